#include <charconv>

#include "base/device_memory.h"
#include "base/duration.h"
#include "base/model_name.h"
#include "share_options/share_options.h"

namespace divvy::share_options {
namespace {

Error no(std::string_view value, const std::string& accepted) {
  return {ErrorCode::kUsage,
          '"' + std::string(value) + "\" is not understood; accepted: " + accepted};
}

// "a|b|c" as "a, b, c".
std::string listOf(std::string_view words) {
  std::string list;
  for (const char c : words) list += c == '|' ? std::string(", ") : std::string(1, c);
  return list;
}

bool isOneOf(std::string_view words, std::string_view value) {
  for (;;) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

bool isPercent(std::string_view value) {
  if (!value.ends_with('%')) return false;
  const char* end = value.data() + value.size() - 1;
  unsigned percent = 0;
  const auto [at, fault] = std::from_chars(value.data(), end, percent);
  return fault == std::errc{} && at == end && percent >= 1 && percent <= 100;
}

Result<void> checkSize(std::string_view value, bool none) {
  if (isPercent(value) || (none && (value == "0" || value == "0%"))) return {};
  const Result<Bytes> bytes = parseDeviceMemory(value);
  if (bytes) return {};
  if (value.find_first_not_of("0123456789") == std::string_view::npos && value != "0")
    return bytes.error();
  return no(value, std::string("4Gi, 512Mi, or 1% to 100% of the device") + (none ? ", or 0" : ""));
}

Result<void> checkTime(std::string_view value, bool off) {
  if (off && value == "off") return {};
  const Result<std::uint64_t> ms = parseDurationMs(value);
  if (ms) return {};
  return Error(ErrorCode::kUsage, ms.error().message() + (off ? ", or off" : ""));
}

Result<void> checkNames(std::string_view value, bool models) {
  for (;;) {
    const std::size_t comma = value.find(',');
    const std::string_view one = value.substr(0, comma);
    if (one.find_first_not_of(" \t") == std::string_view::npos)
      return no(value, "names, with a comma between two of them");
    if (models && !isModelPattern(one))
      return Error(ErrorCode::kUsage,
                   '"' + std::string(one) +
                       "\" has no letter or digit; accepted: " + std::string(kModelPatterns));
    if (comma == std::string_view::npos) return {};
    value.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<void> check(const ShareOption& term, std::string_view value) {
  switch (term.form) {
    case ValueKind::kWord:
      if (isOneOf(term.type, value)) return {};
      return no(value, listOf(term.type));
    case ValueKind::kSize:
    case ValueKind::kSizeOrNone:
      return checkSize(value, term.form == ValueKind::kSizeOrNone);
    case ValueKind::kTime:
    case ValueKind::kTimeOrOff:
      return checkTime(value, term.form == ValueKind::kTimeOrOff);
    case ValueKind::kNames:
    case ValueKind::kModels:
      return checkNames(value, term.form == ValueKind::kModels);
    case ValueKind::kElsewhere:
      return {};
  }
  return {};
}

}  // namespace divvy::share_options
