// Usage and cost of a time, read from the history, as JSON and CSV.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "console/prices.h"
#include "history/store.h"
#include "reports/focus_csv.h"
#include "reports/usage_sums.h"

namespace divvy::console {

// A result of its own: it outlives the store and the prices.
class UsageReport {
 public:
  // Amounts that a viewer may see, or that are known.
  struct Known {
    bool use = true;       // agents report device time
    bool capacity = true;  // the viewer sees all devices and shares
  };

  // Reads the hours of the query, one after the other. `filter`: see UsageSums. kUsage: more than
  // UsageSums::kMaxRows rows, or more than 20 s of reading; the message says what is accepted.
  // Errors of the store.
  static Result<UsageReport> read(const history::Store& store, const UsageQuery& query,
                                  const PriceTable& prices, UsageSums::ShareFilter filter);

  // Returns the report as docs/reference/console-api.md describes it.
  boost::json::object json(Known known) const;
  // Returns the rows as CSV (RFC 4180), with a header line.
  std::string csv(Known known) const;
  // Returns the rows for FOCUS. The report is one by share, and in steps of a day.
  std::vector<FocusRow> focusRows() const;

 private:
  struct Row {
    UsageSums::Key key;
    history::ObjectRecord record;  // of a share or a device; else its name alone
    UsageAmount amount;
  };

  explicit UsageReport(const UsageQuery& query) : query_(query) {}
  boost::json::object rowJson(const UsageAmount& amount, Known known) const;

  UsageQuery query_;
  std::string currency_;
  std::vector<Row> rows_;  // in the order of the answer
  UsageAmount total_;
  UsageCapacity capacity_;
  std::vector<std::string> unpriced_;
};

}  // namespace divvy::console
