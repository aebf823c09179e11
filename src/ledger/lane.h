// The admission protocol: how one amount is added to or taken from a device's total so that a
// SIGKILL between any two instructions loses nothing. README.md holds the proof.
#pragma once

#include "ledger/layout.h"
#include "ledger/words.h"

namespace divvy::ledger {

// A lane that the caller owns: it holds the process-local lock, or it is the agent and the
// slot's process is dead.
struct LaneSite {
  ReportPage* report;
  const ControlHeader* control;  // for slots_ready: tags are followed no further than that
  unsigned slot;
  unsigned lane;

  Slot& slotRef() const { return report->slots[slot]; }
  Lane& laneRef() const { return report->slots[slot].lanes[lane]; }
};

enum class Step : std::uint8_t {
  kDone,
  kOverLimit,  // refused, nothing changed
  kContended,  // kMaxTries failed compare-and-swaps in a row, nothing changed
  kRetired,    // the lane has no sequence number left, nothing changed
};

// Each failed try is another operation's success, so even 64 processes in a tight loop stay far
// below; only somebody who scribbles on the total on purpose gets here.
inline constexpr unsigned kMaxTries = 1u << 20;

// What the limits admit now: ceiling less headroom, and no more than `own_limit` unless that is 0.
std::uint64_t admissibleBytes(const DeviceControl& limits, std::uint64_t own_limit);

// Adds `bytes` to the total and to the lane unless the total would pass what is admissible.
Step addOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const DeviceControl& limits,
               std::uint64_t own_limit);

// Takes `bytes`, at most what the lane holds, from the total and the lane. `missing` is raised by
// what the total lacked (it was tampered with). Stops at sequence number `last_seq`.
Step subtractOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, std::uint64_t last_seq,
                    std::uint64_t* missing);

// Changes the total's tag and nothing else, so that every compare-and-swap prepared before fails
// and reads the limits again. One try is enough: it fails only when another operation changed the
// tag first, which serves as well. `seq` must never have been used before.
void fenceTotal(ReportPage& report, const ControlHeader& control, unsigned dev, std::uint64_t seq);

// Finishes or forgets the operation that a dead owner left behind, by whether it had committed.
// Idempotent. False when the lane's words cannot stem from this protocol; it is then made quiet.
bool resolveLane(const LaneSite& site, unsigned device_count);

}  // namespace divvy::ledger
