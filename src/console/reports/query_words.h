// Words of queries that several answers read. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/query.h"

namespace divvy::console {

// Returns a number of 0 or more, at most that of the year 9999 in ms; `otherwise` if it is absent.
// kUsage: as the message says.
Result<std::int64_t> numberOf(const http::Query& query, const char* name, std::int64_t otherwise);

// kUsage: the query has other words; the message names the accepted ones.
Result<void> checkWords(const http::Query& query, const std::vector<std::string_view>& accepted);

// [from, to) in ms since 1970.
struct TimeRange {
  std::int64_t from_ms = 0, to_ms = 0;
};

// Reads `from` and `to`. Without them, the last `span_ms` before `now_ms`. kUsage: as above.
Result<TimeRange> rangeOf(const http::Query& query, std::int64_t now_ms, std::int64_t span_ms);

}  // namespace divvy::console
