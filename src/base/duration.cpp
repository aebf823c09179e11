#include "base/duration.h"

#include <array>
#include <charconv>
#include <string>

namespace divvy {
namespace {

struct TimeUnit {
  std::string_view suffix;
  std::uint64_t ms;
};
// "ms" before "s", which it ends with.
constexpr std::array<TimeUnit, 5> kTimeUnits{
    {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}}};
constexpr std::uint64_t kMaxDurationMs = 365ull * 24 * 3600 * 1000;

}  // namespace

Result<std::uint64_t> parseDurationMs(std::string_view text) {
  const Error bad(ErrorCode::kUsage,
                  "time \"" + std::string(text) +
                      "\" is not understood; accepted: a positive number with ms, s, m or h (30s), "
                      "or plain seconds, at most a year");
  for (const TimeUnit& unit : kTimeUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.suffix.size());
    std::uint64_t count = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (fault != std::errc{} || end != digits.data() + digits.size()) return bad;
    if (count == 0 || count > kMaxDurationMs / unit.ms) return bad;
    return count * unit.ms;
  }
  return bad;
}

std::string formatDuration(std::int64_t seconds, const DurationUnits& units) {
  const auto in = [&](std::int64_t unit, std::string_view name) {
    return std::to_string(seconds / unit) + std::string(name);
  };
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  if (!units.day.empty() && seconds >= 2 * kDay) return in(kDay, units.day);
  if (seconds >= 2 * kHour) return in(kHour, units.hour);
  return seconds >= 2 * kMinute ? in(kMinute, units.minute) : in(1, units.second);
}

}  // namespace divvy
