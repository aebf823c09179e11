// Cleaning up after a dead process. Runs on hostile memory and may itself be killed at any
// instruction: whoever comes next goes on where it stood. Freestanding.
#pragma once

#include "ledger/layout.h"

namespace divvy::ledger {

enum class ReapStep : std::uint8_t {
  kFreed,
  kNotOurs,    // the slot is free, retired, or of another generation
  kRetired,    // its sequence numbers are used up or forged: never used again, bytes stay counted
  kContended,  // gave up for now; nothing is lost, call again
};

struct Reaped {
  ReapStep outcome = ReapStep::kNotOurs;
  std::uint64_t refunded[kMaxDevices] = {};
};

// Refunds what the slot's process had and frees the slot. Nobody else may be doing the same, and
// nobody may write into the slot any more: its process is dead, or it is our own earlier program
// image (then `resume` is false: a clean-up that somebody began is not taken over).
// Touches `report` only, plus `control.slots_ready`. No allocation, no exception, no resources:
// safe to leave by a jump. Bounded: lanes x devices x 2 operations of at most kMaxTries tries.
Reaped reapSlot(ReportPage& report, const ControlHeader& control, unsigned slot,
                std::uint64_t generation, unsigned device_count, bool resume) noexcept;

}  // namespace divvy::ledger
