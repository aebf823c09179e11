#include "reports/usage_query.h"

#include <algorithm>
#include <array>
#include <optional>

#include "history/usage.h"
#include "reports/query_words.h"

namespace divvy::console {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 7> kGroups{"share", "device", "model", "namespace",
                                                  "team",  "queue",  "owner"};
constexpr std::array<std::string_view, 3> kSteps{"all", "day", "hour"};
constexpr std::size_t kGroupsOfMachine = 3;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kHoursOfDay = 24;
// As long as the history keeps rows (history/README.md).
constexpr std::int64_t kKeptMs = 400 * kDayMs;

// The place of the parameter among the first `count` words; its absence is the first word.
template <std::size_t kCount>
Result<std::size_t> placeOf(const http::Query& query, const char* name,
                            const std::array<std::string_view, kCount>& words, std::size_t count) {
  const std::string* text = query.parameter(name);
  if (text == nullptr) return std::size_t{0};
  std::string accepted;
  for (std::size_t at = 0; at < count; ++at) {
    if (words[at] == *text) return at;
    accepted += (at == 0 ? "" : ", ") + std::string(words[at]);
  }
  return Error{ErrorCode::kUsage, std::string(name) + ": accepted is one of " + accepted};
}

// The hours that the words `from` and `to` touch.
Result<UsageQuery> hoursOf(const http::Query& query, std::int64_t now_ms) {
  const Result<TimeRange> range = rangeOf(query, now_ms, kDayMs);
  if (!range) return range.error();
  const auto hourOf = [](std::int64_t ms) {
    return history::hourOf(history::Instant(history::Span(ms)));
  };
  UsageQuery hours;
  hours.from_hour = hourOf(std::max(range->from_ms, now_ms - kKeptMs));
  hours.to_hour = std::max(hours.from_hour, hourOf(std::min(range->to_ms - 1, now_ms)) + 1);
  return hours;
}

}  // namespace

std::string_view nameOf(UsageGroup group) {
  return kGroups.at(static_cast<std::size_t>(group));
}

std::string_view nameOf(UsageStep step) {
  return kSteps.at(static_cast<std::size_t>(step));
}

Result<UsageQuery> readUsageQuery(const http::Query& query, bool of_cluster, std::int64_t now_ms) {
  const Result<void> known = checkWords(query, {"by", "step", "from", "to"});
  if (!known) return known.error();
  const Result<std::size_t> by =
      placeOf(query, "by", kGroups, of_cluster ? kGroups.size() : kGroupsOfMachine);
  if (!by) return by.error();
  const Result<std::size_t> step = placeOf(query, "step", kSteps, kSteps.size());
  if (!step) return step.error();
  Result<UsageQuery> hours = hoursOf(query, now_ms);
  if (!hours) return hours.error();
  hours->by = static_cast<UsageGroup>(*by);
  hours->step = static_cast<UsageStep>(*step);
  return hours;
}

Result<UsageQuery> readDailyQuery(const http::Query& query, std::int64_t now_ms) {
  const Result<void> known = checkWords(query, {"from", "to"});
  if (!known) return known.error();
  Result<UsageQuery> hours = hoursOf(query, now_ms);
  if (!hours) return hours.error();
  hours->step = UsageStep::kDay;
  hours->from_hour -= hours->from_hour % kHoursOfDay;
  hours->to_hour += (kHoursOfDay - hours->to_hour % kHoursOfDay) % kHoursOfDay;
  return hours;
}

}  // namespace divvy::console
