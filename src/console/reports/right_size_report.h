// The report "right-sizing": workloads whose shares are too large, as JSON and CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "console/prices.h"
#include "history/store.h"
#include "http/query.h"
#include "reports/right_size.h"
#include "reports/running_workloads.h"

namespace divvy::console {

struct RightSizeQuery {
  int days = 14;               // 1 to 400
  std::string namespace_name;  // empty: all
};

// Reads `days`, and `namespace` of a cluster. kUsage: the message names the accepted words.
Result<RightSizeQuery> readRightSizeQuery(const http::Query& query, bool of_cluster);

// A result of its own: it outlives the store and the prices.
class RightSizeReport {
 public:
  static constexpr std::size_t kMaxItems = 5000;

  // Reads the history of the workloads for the days before `now_ms`. The maximum is that of all
  // readings; the percentile is over the busiest 5 minutes of each hour. `now_ms`: the store's
  // present. kUsage: there are more than kMaxItems workloads, or reading takes more than 20 s.
  // Errors of the store.
  static Result<RightSizeReport> read(const history::Store& store, const RightSizeQuery& query,
                                      const PriceTable& prices, RunningWorkloads workloads,
                                      std::int64_t now_ms);

  // Returns the report as docs/reference/console-api.md describes it.
  boost::json::object json() const;
  // Returns the items as CSV (RFC 4180), with a header line.
  std::string csv() const;

 private:
  struct Item {
    std::string key;
    RunningWorkload workload;
    SizeFacts facts;
    SizeAdvice advice;
    std::uint64_t saving_bytes = 0;
    double saving_devices = 0;  // parts of devices that would be free
    std::optional<std::int64_t> idle_micro_per_day;
  };

  void addSavings(const PriceTable& prices, Item& item) const;
  static boost::json::object itemJson(const Item& item);

  RightSizeQuery query_;
  std::int64_t from_ms_ = 0, to_ms_ = 0;
  std::string currency_;     // empty: no prices
  std::vector<Item> items_;  // in the order of the answer
};

}  // namespace divvy::console
