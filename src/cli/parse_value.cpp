#include <array>
#include <charconv>

#include "options.h"

namespace divvy::cli {
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

Result<unsigned> parseCount(std::string_view text, const std::string& what, unsigned low,
                            unsigned high) {
  unsigned count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault == std::errc{} && end == text.data() + text.size() && count >= low && count <= high)
    return count;
  return Error{ErrorCode::kUsage, what + " \"" + std::string(text) +
                                      "\" is not accepted; a whole number from " +
                                      std::to_string(low) + " to " + std::to_string(high) + " is"};
}

Result<unsigned> parseCores(std::string_view text, unsigned gpus) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const unsigned least = gpus == 0 ? 1 : gpus;
  const unsigned most = 100 * (gpus == 0 ? kMaxGpus : gpus);
  const Result<unsigned> percent = parseCount(digits, "--cores", least, most);
  if (percent) return percent;
  std::string why = "--cores \"" + std::string(text) + "\" is not accepted";
  if (gpus != 0) why += " for " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
  why += "; a whole number from " + std::to_string(least) + " to ";
  why += gpus == 0 ? "100 for each GPU" : std::to_string(most);
  if (gpus > 1) why += " (1 to 100 of each)";
  return Error{ErrorCode::kUsage, why + " is"};
}

}  // namespace divvy::cli
