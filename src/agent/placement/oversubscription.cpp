#include "agent/oversubscription.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace divvy::agent {
namespace {

constexpr unsigned kMaxOvercommit = 4000;
constexpr Bytes kMinChunk = kib(64);
constexpr Bytes kMaxChunk = mib(256);

Error usage(const std::string& why) {
  return {ErrorCode::kUsage, why};
}

Result<bool> parseSwitch(const char* name, std::string_view text) {
  if (text == "on" || text == "off") return text == "on";
  return usage(name + (" \"" + std::string(text)) + "\" is not known; accepted: on, off");
}

// "1.3" as 1300.
Result<unsigned> parseRatio(std::string_view text) {
  const Error bad = usage("overcommit \"" + std::string(text) +
                          "\" is not understood; accepted: 1.0 to 4.0, at most three decimals");
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (whole.empty() || decimals.size() > 3 || (dot != std::string_view::npos && decimals.empty()))
    return bad;
  decimals.resize(3, '0');
  const std::string digits = std::string(whole) + decimals;
  unsigned permille = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), permille);
  const bool number = fault == std::errc{} && end == digits.data() + digits.size();
  if (!number || permille < kNoOvercommit || permille > kMaxOvercommit) return bad;
  return permille;
}

template <typename T, typename Parse>
Result<void> readOne(std::string_view text, Parse parse, PerDevice<T>& out) {
  const std::size_t equals = text.find('=');
  const bool named = equals != std::string_view::npos;
  const std::string name(named ? text.substr(0, equals) : "");
  if (named && name.empty())
    return usage("\"" + std::string(text) +
                 "\" names no device; accepted: DEV=VALUE, where DEV is " + "an index or a UUID");
  Result<T> value = parse(named ? text.substr(equals + 1) : text);
  if (!value) return value.error();
  const bool again = named ? std::any_of(out.some.begin(), out.some.end(),
                                         [&](const auto& other) { return other.first == name; })
                           : out.all.has_value();
  if (again)
    return usage("\"" + std::string(text) + "\": there is a value for " +
                 (named ? "device " + name : "all devices") + " already; accepted: one");
  if (named) {
    out.some.emplace_back(name, *value);
  } else {
    out.all = *value;
  }
  return {};
}

template <typename T, typename Parse>
Result<void> readList(std::string_view text, Parse parse, PerDevice<T>& out) {
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    Result<void> good = readOne<T>(text.substr(from, comma - from), parse, out);
    if (!good) return good;
    from = comma + 1;
  }
  return {};
}

bool names(const std::string& name, const DeviceName& device) {
  if (name == std::to_string(device.index)) return true;
  return name.size() > 4 && device.uuid.starts_with(name);
}

std::string listOf(const std::vector<DeviceName>& devices) {
  std::string text;
  for (const DeviceName& device : devices)
    text += (text.empty() ? "" : ", ") + std::to_string(device.index) + " (" + device.uuid + ")";
  return text;
}

// Calls set(index of the device, value) for each device that has one.
template <typename T, typename Set>
Result<void> apply(const PerDevice<T>& told, const std::vector<DeviceName>& devices, Set set) {
  for (std::size_t i = 0; told.all && i < devices.size(); ++i) set(i, *told.all);
  std::vector<bool> named(devices.size());
  for (const auto& [name, value] : told.some) {
    const auto fits = [&, &key = name](const DeviceName& device) { return names(key, device); };
    const auto found = std::find_if(devices.begin(), devices.end(), fits);
    if (found == devices.end())
      return usage("no device is \"" + name + "\"; there are: " + listOf(devices));
    if (std::count_if(devices.begin(), devices.end(), fits) > 1)
      return usage("several devices are \"" + name + "\"; there are: " + listOf(devices));
    const auto index = static_cast<std::size_t>(found - devices.begin());
    if (named[index])
      return usage("device " + std::to_string(found->index) +
                   " is named twice; accepted: one value for each device");
    named[index] = true;
    set(index, value);
  }
  return {};
}

}  // namespace

Result<void> readOvercommit(std::string_view text, PerDevice<unsigned>& out) {
  return readList<unsigned>(text, parseRatio, out);
}

Result<void> readBudget(std::string_view text, PerDevice<Bytes>& out) {
  return readList<Bytes>(text, parseBytes, out);
}

Result<Bytes> parseHostReserve(std::string_view text) {
  if (text == "0") return Bytes{};
  return parseBytes(text);
}

Result<Bytes> parseSwapChunk(std::string_view text) {
  Result<Bytes> chunk = parseBytes(text);
  if (chunk && std::has_single_bit(chunk->count) && *chunk >= kMinChunk && *chunk <= kMaxChunk)
    return chunk;
  return usage("chunk size \"" + std::string(text) +
               "\" is not accepted; a power of two from 64Ki to 256Mi is");
}

Result<bool> parseCheckpoint(std::string_view text) {
  return parseSwitch("checkpoint", text);
}

Result<bool> parseHostMap(std::string_view text) {
  return parseSwitch("host-map", text);
}

bool mapsHostMemory(std::string_view driver) {
  constexpr unsigned kFirstBranch = 575;
  unsigned branch = 0;
  const auto [end, fault] = std::from_chars(driver.data(), driver.data() + driver.size(), branch);
  return fault == std::errc{} && branch >= kFirstBranch;
}

Result<std::vector<DeviceTerms>> termsFor(const Oversubscription& told,
                                          const std::vector<DeviceName>& devices) {
  std::vector<DeviceTerms> terms(devices.size());
  Result<void> good = apply(told.overcommit, devices, [&](std::size_t i, unsigned permille) {
    terms[i].overcommit_permille = permille;
    terms[i].told = true;
  });
  const auto limit = [&](std::size_t i, Bytes bytes) {
    terms[i].budget = bytes;
    terms[i].told = true;
  };
  if (good) good = apply(told.budget, devices, limit);
  if (!good) return good.error();
  return terms;
}

}  // namespace divvy::agent
