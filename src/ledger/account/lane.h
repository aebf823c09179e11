// The admission protocol: how bytes move between a lane and a shared word so that a SIGKILL between
// any two instructions loses nothing. README.md holds the proof.
#pragma once

#include "ledger/layout.h"
#include "ledger/packed_words.h"

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

// Lane::word: a device's total, or the spare bytes of some lane.
inline constexpr std::uint32_t kTotalWord = 0;
constexpr std::uint32_t spareWord(unsigned slot, unsigned lane) {
  return 1 + slot * kLanes + lane;
}
inline Pair& wordAt(ReportPage& report, unsigned dev, std::uint32_t word) {
  if (word == kTotalWord) return report.devices[dev].total;
  return report.slots[(word - 1) / kLanes].lanes[(word - 1) % kLanes].spare[dev];
}

enum class Step : std::uint8_t {
  kDone,
  kRefused,    // over the limit, or the word has too little; nothing changed
  kContended,  // kMaxTries failed compare-and-swaps in a row, nothing changed
  kRetired,    // the lane has no sequence number left, nothing changed
};

// Each failed try is another operation's success, so even 64 processes in a tight loop stay far
// below; only somebody who scribbles on the word on purpose gets here.
inline constexpr unsigned kMaxTries = 1u << 20;

// What the share of device `dev` has beside its ceiling: one context, or nothing.
std::uint64_t outsideBytes(const ControlPage& control, unsigned dev);

// The limits of one device as an operation sees them; read again at each try.
struct Limits {
  const DeviceControl* device;
  std::uint64_t own_limit;
  std::uint64_t outside;  // outsideBytes()

  // What they admit now: ceiling less headroom, no more than `own_limit` unless that is 0, and what
  // is outside.
  std::uint64_t admissible() const;
};

// The total grows by `bytes`, which the lane then has in use, unless it would pass the limit.
Step admitOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// The lane puts `bytes` of its own spare ones to use, unless it has fewer, or the total is above
// the limit (which was lowered).
Step spendOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// The lane keeps `bytes` that it had in use as spare ones. It must have them in use.
Step keepOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes);

// The total shrinks by `bytes`, at most what the lane has in use. `missing` is raised by what the
// total lacked (it was tampered with). Stops at sequence number `last_seq`.
Step refundOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, std::uint64_t last_seq,
                  std::uint64_t* missing);

// All bytes of a spare word come into use by the lane; kRefused when there are none.
Step takeOnLane(const LaneSite& site, unsigned dev, std::uint32_t word, std::uint64_t last_seq);

// Changes the tags of the total and of all spare words, and nothing else, so that every
// compare-and-swap prepared before fails and reads the limits again. One try each is enough: it
// fails only when another operation changed the tag first, which serves as well. `seq` must never
// have been used before.
void fenceDevice(ReportPage& report, const ControlHeader& control, unsigned dev, std::uint64_t seq);

// Finishes or forgets the operation that a dead owner left behind, by whether it had committed.
// Idempotent. False when the lane's words cannot stem from this protocol; it is then made quiet.
bool resolveLane(const LaneSite& site, unsigned device_count);

}  // namespace divvy::ledger
