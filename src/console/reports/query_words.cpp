#include "reports/query_words.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace divvy::console {

Result<std::int64_t> numberOf(const http::Query& query, const char* name, std::int64_t otherwise) {
  const std::string* text = query.parameter(name);
  if (text == nullptr || text->empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
  // Up to the year 9999, so that later arithmetic cannot overflow.
  constexpr std::int64_t most = 253'402'300'799'000;
  if (fault != std::errc() || end != text->data() + text->size() || value < 0 || value > most)
    return Error{ErrorCode::kUsage, std::string(name) + ": accepted is a number of 0 or more"};
  return value;
}

Result<void> checkWords(const http::Query& query, const std::vector<std::string_view>& accepted) {
  for (const http::Parameter& word : query.parameters.all()) {
    if (std::find(accepted.begin(), accepted.end(), word.name) != accepted.end()) continue;
    std::string all;
    for (const std::string_view one : accepted) all += (all.empty() ? "" : ", ") + std::string(one);
    return Error{ErrorCode::kUsage,
                 "unknown query word \"" + word.name.substr(0, 64) + "\"; accepted: " + all};
  }
  return {};
}

Result<TimeRange> rangeOf(const http::Query& query, std::int64_t now_ms, std::int64_t span_ms) {
  const Result<std::int64_t> to = numberOf(query, "to", now_ms);
  if (!to) return to.error();
  const Result<std::int64_t> from =
      numberOf(query, "from", std::max<std::int64_t>(*to - span_ms, 0));
  if (!from) return from.error();
  if (*from >= *to) return Error{ErrorCode::kUsage, "from: accepted is an instant before \"to\""};
  return TimeRange{*from, *to};
}

}  // namespace divvy::console
