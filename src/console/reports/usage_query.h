// The words of a query for usage. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "http/query.h"

namespace divvy::console {

// The property by which usage is summed.
enum class UsageGroup : std::uint8_t { kShare, kDevice, kModel, kNamespace, kTeam, kQueue, kOwner };
enum class UsageStep : std::uint8_t { kAll, kDay, kHour };

std::string_view nameOf(UsageGroup group);
std::string_view nameOf(UsageStep step);

// Hours are counted since 1970.
struct UsageQuery {
  UsageGroup by = UsageGroup::kShare;
  UsageStep step = UsageStep::kAll;
  std::int64_t from_hour = 0;
  std::int64_t to_hour = 0;  // exclusive
};

// Reads `by`, `step`, `from` and `to`, as far as the time is within the last 400 days; `now_ms` is
// the present. One machine has shares, devices and models only. kUsage: the message names the
// accepted words.
Result<UsageQuery> readUsageQuery(const http::Query& query, bool of_cluster, std::int64_t now_ms);

// Reads `from` and `to` as whole days of UTC, by share and day. kUsage: as above.
Result<UsageQuery> readDailyQuery(const http::Query& query, std::int64_t now_ms);

}  // namespace divvy::console
