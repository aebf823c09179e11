// What a tenant's report says, read so seldom that no tenant takes much of the agent's loop: a
// report with all slots in use takes milliseconds to read. Private.
#pragma once

#include <chrono>
#include <memory>

#include "ledger/tenant_ledger.h"

namespace divvy::agent {

using ReportPtr = std::shared_ptr<const ledger::ReportSnapshot>;

// Of one tenant. On the agent's one thread.
class ReportReader {
 public:
  using Clock = std::chrono::steady_clock;
  // What was read stands for so many times as long as reading it took, in processor time of this
  // thread, if that was long: a busy machine makes no report old.
  static constexpr int kRests = 50;
  static constexpr std::chrono::milliseconds kLong{1};

  // As readReport(); null: it cannot be read. At most kRests times the last read's cost old.
  ReportPtr look(const ledger::TenantLedger& pages);

 private:
  ReportPtr last_;
  Clock::time_point until_{};
};

}  // namespace divvy::agent
