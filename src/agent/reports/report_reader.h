// Reads a tenant's report, seldom enough that no tenant takes much of the agent's loop: a report
// with all slots in use takes milliseconds to read. Private.
#pragma once

#include <chrono>
#include <memory>

#include "ledger/tenant_ledger.h"

namespace divvy::agent {

using ReportPtr = std::shared_ptr<const ledger::ReportSnapshot>;

// One tenant's reader. Only on the agent's one thread.
class ReportReader {
 public:
  using Clock = std::chrono::steady_clock;
  // A report that took kLong or more to read stays valid for kRests times the cost of the read. The
  // cost is processor time of this thread, so that a busy machine does not age reports.
  static constexpr int kRests = 50;
  static constexpr std::chrono::milliseconds kLong{1};

  // Returns the report, as readReport(); null: it cannot be read. Its age is at most kRests times
  // the cost of the last read.
  ReportPtr read(const ledger::TenantLedger& pages);

 private:
  ReportPtr last_;
  Clock::time_point until_{};
};

}  // namespace divvy::agent
