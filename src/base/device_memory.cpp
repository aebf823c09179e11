#include "base/device_memory.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace divvy {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kMinBytes = 100 * kMillion;
// The form of a plain number that parseBytes() accepts, in its messages.
constexpr std::string_view kPlainBytes = "plain bytes";

std::string nameOf(Bytes unit) {
  return unit == mib(1) ? "MiB" : formatBytes(unit);
}

std::string accepted(Bytes unit) {
  return "accepted: a whole number of " + nameOf(unit) + ", or bytes with a suffix, as 16Gi";
}

Error eitherWay(unsigned __int128 units, Bytes bytes, Bytes unit) {
  constexpr unsigned __int128 kMax = UINT64_MAX;
  const Bytes as_units{static_cast<std::uint64_t>(units < kMax ? units : kMax)};
  const std::uint64_t mebibytes = (bytes.count + mib(1).count - 1) / mib(1).count;
  return {ErrorCode::kUsage, "is " + formatBytes(as_units) + " as a number of " + nameOf(unit) +
                                 ", which is too much, and " + formatBytes(bytes) +
                                 " as bytes, which is written " + std::to_string(mebibytes) +
                                 "Mi; " + accepted(unit)};
}

}  // namespace

Result<Bytes> deviceMemory(const Quantity& amount, Bytes unit, Bytes max) {
  const auto whole = amount.whole();
  if (!whole || *whole < 0) return Error(ErrorCode::kUsage, accepted(unit));
  const Bytes bytes{static_cast<std::uint64_t>(*whole)};
  if (amount.binary()) return bytes;
  const unsigned __int128 units = static_cast<unsigned __int128>(bytes.count) * unit.count;
  if (units <= max.count) return Bytes{static_cast<std::uint64_t>(units)};
  if (bytes.count % kMillion == 0 && bytes.count >= kMinBytes) return bytes;
  return eitherWay(units, bytes, unit);
}

Result<Bytes> parseDeviceMemory(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!plain) {
    const Result<Bytes> bytes = parseBytes(text);
    if (bytes) return bytes;
    // Here a plain number is no number of bytes.
    std::string message = bytes.error().message();
    const std::size_t at = message.find(kPlainBytes);
    if (at != std::string::npos) message.replace(at, kPlainBytes.size(), "a plain number of MiB");
    return Error(bytes.error().code(), message);
  }
  const Result<Quantity> amount = Quantity::parse(text);
  const Result<Bytes> bytes =
      amount ? deviceMemory(*amount, mib(1)) : Result<Bytes>(amount.error());
  if (!bytes) return Error(bytes.error()).context("memory \"" + std::string(text) + '"');
  if (bytes->count == 0) return parseBytes(text);  // which says what is accepted
  return bytes;
}

}  // namespace divvy
