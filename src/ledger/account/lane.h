// The admission protocol: how bytes move between a lane and a shared word so that a SIGKILL between
// any two instructions loses nothing. README.md holds the proof.
#pragma once

#include "ledger/layout.h"
#include "ledger/packed_words.h"

namespace divvy::ledger {

// A lane that the caller owns: the caller holds the process-local lock, or is the reaper, and the
// slot's process is dead.
struct LaneSite {
  ReportPage* report;
  const ControlHeader* control;  // for slots_ready: limit on the slots that tags may name
  unsigned slot;
  unsigned lane;

  Slot& slotRef() const { return report->slots[slot]; }
  Lane& laneRef() const { return report->slots[slot].lanes[lane]; }
};

// Values of Lane::word: a device's total, or the spare bytes of some lane.
inline constexpr std::uint32_t kTotalWord = 0;
constexpr std::uint32_t spareWord(unsigned slot, unsigned lane) {
  return 1 + slot * kLanes + lane;
}
inline Pair& wordAt(ReportPage& report, unsigned dev, std::uint32_t word) {
  if (word == kTotalWord) return report.devices[dev].total;
  return report.slots[(word - 1) / kLanes].lanes[(word - 1) % kLanes].spare[dev];
}

enum class LaneStep : std::uint8_t {
  kDone,
  kRefused,    // over the limit, or the word has too little; nothing changed
  kContended,  // kMaxTries failed compare-and-swaps in a row; nothing changed
  kRetired,    // the lane has no sequence number left; nothing changed
};

// Each failed try is another operation's success. So even 64 processes in a tight loop stay far
// below this bound; only deliberate tampering with the word reaches it.
inline constexpr unsigned kMaxTries = 1u << 20;

// Bytes by which the limit of device `dev` exceeds its ceiling: one context, or 0.
std::uint64_t outsideBytes(const ControlPage& control, unsigned dev);

// The limits of one device, for an operation; read again at each try.
struct Limits {
  const DeviceControl* device;
  std::uint64_t own_limit;
  std::uint64_t outside;  // outsideBytes()

  // Returns the present limit: ceiling less headroom, at most `own_limit` unless that is 0, plus
  // `outside`.
  std::uint64_t admissible() const;
};

// admit: total += bytes, used += bytes. kRefused if the total would exceed the limit.
LaneStep admitOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// spend: own spare -= bytes, used += bytes. kRefused if the lane has fewer spare bytes, or if the
// total is above the limit (which was lowered).
LaneStep spendOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes, const Limits& limits);

// keep: own spare += bytes, used -= bytes. kRefused if the lane has fewer bytes in use.
LaneStep stockOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes);

// refund: total -= bytes, used -= bytes, at most what the lane has in use. Adds the bytes that the
// total lacked to `missing` (the total was tampered with). kRetired beyond sequence `last_seq`.
LaneStep refundOnLane(const LaneSite& site, unsigned dev, std::uint64_t bytes,
                      std::uint64_t last_seq, std::uint64_t* missing);

// take: all bytes of a spare word become bytes in use of the lane. kRefused if there are none.
// kRetired beyond sequence `last_seq`.
LaneStep drainOnLane(const LaneSite& site, unsigned dev, std::uint32_t word,
                     std::uint64_t last_seq);

// Changes the tags of the total and of all spare words that have bytes, and nothing else. So each
// compare-and-swap that was prepared before fails, and its operation reads the limits again. One
// try per word is enough: it fails only if another operation changed the tag first, which has the
// same effect. `seq` must never have been used before.
void fenceDevice(ReportPage& report, const ControlHeader& control, unsigned dev, std::uint64_t seq);

// Finishes or drops the operation that a dead owner left behind, depending on whether it had
// committed. Idempotent. Returns false if the lane's words cannot come from this protocol; the
// operation is then dropped.
bool resolveLane(const LaneSite& site, unsigned device_count);

}  // namespace divvy::ledger
