// Frees the slot of a dead process. Runs on hostile memory, and may itself be killed at any
// instruction: the next call continues. Freestanding.
#pragma once

#include "ledger/layout.h"

namespace divvy::ledger {

enum class ReapStep : std::uint8_t {
  kFreed,
  kNotOurs,    // the slot is free, retired, or of another generation
  kRetired,    // its sequence numbers are used up or forged: never used again, bytes stay counted
  kContended,  // gave up for now; nothing is lost, call again
};

struct ReapedSlot {
  ReapStep outcome = ReapStep::kNotOurs;
  std::uint64_t refunded[kMaxDevices] = {};
};

// Refunds the bytes of the slot's process and frees the slot. No other thread or process may do the
// same at once. The slot may have no writer left: its process is dead, or it is an earlier program
// image of this process. `resume`: also continue a clean-up that was begun; false for an own
// earlier image.
//
// Touches only `report` and `control.slots_ready`. Does not allocate, throws nothing, owns nothing,
// so a jump may leave it. Bounded by lanes x devices x 2 operations of at most kMaxTries tries.
ReapedSlot reapSlot(ReportPage& report, const ControlHeader& control, unsigned slot,
                    std::uint64_t generation, unsigned device_count, bool resume) noexcept;

}  // namespace divvy::ledger
