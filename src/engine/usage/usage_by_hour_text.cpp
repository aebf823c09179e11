#include "engine/usage_by_hour_text.h"

#include <charconv>
#include <optional>

namespace divvy::engine {
namespace {

constexpr std::string_view kElse = "else";
constexpr std::uint16_t kNotSaid = kAllOfIt + 1;
constexpr unsigned kPerPercent = 10;

std::string_view trimmed(std::string_view word) {
  const std::size_t first = word.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(' ') - first + 1);
}

std::optional<unsigned> wholeNumber(std::string_view digits) {
  unsigned number = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, failed] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || failed != std::errc{} || at != end) return std::nullopt;
  return number;
}

// "12.5%", in thousandths.
std::optional<std::uint16_t> permilleOf(std::string_view word) {
  if (!word.ends_with('%')) return std::nullopt;
  word.remove_suffix(1);
  const std::size_t point = word.find('.');
  const std::optional<unsigned> whole = wholeNumber(word.substr(0, point));
  unsigned tenths = 0;
  if (point != std::string_view::npos) {
    const std::string_view rest = word.substr(point + 1);
    const std::optional<unsigned> digit = wholeNumber(rest);
    if (!digit || rest.size() != 1) return std::nullopt;
    tenths = *digit;
  }
  if (!whole || *whole > kAllOfIt || *whole * kPerPercent + tenths > kAllOfIt) return std::nullopt;
  return static_cast<std::uint16_t>(*whole * kPerPercent + tenths);
}

struct HourRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// "9-18", "22-6", "9"; a day ends at 24.
std::optional<HourRange> hoursOf(std::string_view word) {
  const std::size_t dash = word.find('-');
  const std::optional<unsigned> from = wholeNumber(trimmed(word.substr(0, dash)));
  if (!from || *from >= kHours) return std::nullopt;
  if (dash == std::string_view::npos) return HourRange{*from, 1};
  const std::optional<unsigned> to = wholeNumber(trimmed(word.substr(dash + 1)));
  if (!to || *to > kHours || *to == *from) return std::nullopt;
  return HourRange{*from,
                   (*to + kHours - *from) % kHours == 0 ? kHours : (*to + kHours - *from) % kHours};
}

Error wrong(std::string_view word, const std::string& why) {
  return {ErrorCode::kUsage, "expected use \"" + std::string(word) + "\"" + why +
                                 "; accepted: HOUR-HOUR=PERCENT%, HOUR=PERCENT% (hours 0 to 24) "
                                 "and else=PERCENT%, each hour once, as 9-18=80%,else=10%"};
}

}  // namespace

Result<UsageByHour> parseDaily(std::string_view text) {
  UsageByHour daily;
  daily.permille.fill(kNotSaid);
  std::optional<std::uint16_t> others;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = trimmed(rest.substr(0, comma));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return wrong(word, "");
    const std::string_view when = trimmed(word.substr(0, equals));
    const std::optional<std::uint16_t> part = permilleOf(trimmed(word.substr(equals + 1)));
    if (!part) return wrong(word, " is not in percent, 0% to 100%");
    if (when == kElse) {
      if (others) return wrong(word, " comes twice");
      others = part;
    } else {
      const std::optional<HourRange> hours = hoursOf(when);
      if (!hours) return wrong(word, " names no hours");
      for (std::size_t i = 0; i < hours->count; ++i) {
        std::uint16_t& hour = daily.permille[(hours->first + i) % kHours];
        if (hour != kNotSaid) return wrong(word, " names an hour again");
        hour = *part;
      }
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  for (std::uint16_t& hour : daily.permille)
    if (hour == kNotSaid) hour = others.value_or(kAllOfIt);
  return daily;
}

std::string text(const UsageByHour& daily) {
  std::string all;
  for (std::size_t first = 0; first < kHours;) {
    std::size_t end = first + 1;
    while (end < kHours && daily.permille[end] == daily.permille[first]) ++end;
    const unsigned permille = daily.permille[first];
    all += (all.empty() ? "" : ",") + std::to_string(first) + "-" + std::to_string(end) + "=" +
           std::to_string(permille / kPerPercent);
    if (permille % kPerPercent != 0) all += "." + std::to_string(permille % kPerPercent);
    all += "%";
    first = end;
  }
  return all;
}

}  // namespace divvy::engine
