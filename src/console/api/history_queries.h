// Answers from the history.
#pragma once

#include "base/result.h"
#include "history/store.h"
#include "http/query.h"

#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace divvy::console {

// Reads `of`, `what`, `from`, `to` and `points` of the query and returns the series. kUsage: the
// message names the accepted words; errors of the store.
Result<boost::json::object> seriesOf(const history::Store& store, const http::Query& query,
                                     std::int64_t now_ms);

// Sums of usage of one share or device.
struct UsageSum {
  std::string key;
  std::string name;                   // as it was last known; empty: unknown
  double device_hours = 0;            // device time used
  double allocated_device_hours = 0;  // the larger one of its parts of memory and compute
  double memory_byte_hours = 0;       // allocated
  std::int64_t throttled_ms = 0;
};

// Returns whether the usage of this share is a part of sums.
using ShareFilter = std::function<bool(const std::string& share)>;

// Reads `by` (share or device), `from` and `to` of the query. `filter`: null: all shares. Errors as
// above.
Result<std::vector<UsageSum>> usageOf(const history::Store& store, const http::Query& query,
                                      std::int64_t now_ms, const ShareFilter& filter = nullptr);

// Returns the sums as CSV (RFC 4180), with a header line.
std::string usageTable(const std::vector<UsageSum>& sums);

// Returns the state of the history for pages.
boost::json::object historyState(const history::Store& store, bool in_memory);

}  // namespace divvy::console
