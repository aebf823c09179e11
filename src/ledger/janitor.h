// Cleaning up after a dead process. Runs on hostile memory and may itself be killed at any
// instruction: whoever comes next goes on where it stood.
#pragma once

#include "ledger/layout.h"
#include "ledger/tenant_ledger.h"

namespace divvy::ledger {

struct Reaped {
  ReapOutcome outcome = ReapOutcome::kAlreadyFree;
  bool contended = false;  // gave up for now; nothing is lost, call again
  std::uint64_t refunded[kMaxDevices] = {};
};

// Touches `report` only, plus `control.slots_ready`. No allocation, no exception, no resources:
// safe to leave by a jump. Bounded: at most lanes x (devices + 1) operations of kMaxTries tries.
Reaped reapSlot(ReportPage& report, const ControlHeader& control, unsigned slot,
                std::uint64_t generation, unsigned device_count) noexcept;

}  // namespace divvy::ledger
