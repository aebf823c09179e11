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

}  // namespace divvy
