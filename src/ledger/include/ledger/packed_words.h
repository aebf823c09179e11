// Packed words of the layout: the owner of a slot, and the last operation on a total or spare word.
#pragma once

#include <cstdint>

#include "ledger/layout.h"

namespace divvy::ledger {

// A process, as its own pid namespace identifies it. `start` is field 22 of /proc/PID/stat (clock
// ticks after boot), 0 where /proc cannot be read. It distinguishes a process from a later one with
// the same pid.
struct Owner {
  std::uint32_t pid = 0;    // 24 bits; the kernel's own limit is 2^22
  std::uint64_t start = 0;  // 40 bits: 348 years of 100 Hz ticks

  friend constexpr bool operator==(const Owner&, const Owner&) = default;
};

constexpr std::uint64_t packOwner(const Owner& owner) {
  return (std::uint64_t{owner.pid} << 40) | (owner.start & ((1ull << 40) - 1));
}
constexpr Owner unpackOwner(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 40), word & ((1ull << 40) - 1)};
}

// The bit of a process in ReportHeader::owner_map.
constexpr unsigned ownerBit(const Owner& owner) {
  return static_cast<unsigned>(packOwner(owner) * 0x9e3779b97f4a7c15 >> 52);
}
static_assert(kOwnerBits == 1u << 12);

// Slot::state.low: generation above eight bits of phase. The generation grows when a slot is freed.
constexpr std::uint64_t packState(std::uint64_t generation, Phase phase) {
  return (generation << 8) | static_cast<std::uint64_t>(phase);
}
constexpr std::uint64_t stateGeneration(std::uint64_t word) {
  return word >> 8;
}
constexpr Phase statePhase(std::uint64_t word) {
  return static_cast<Phase>(word & 0xff);
}

// DeviceReport::total.high: the operation that committed last. 0: none yet. The slot kMaxSlots is
// the agent's: its tags (fences) carry no operation.
struct Tag {
  std::uint32_t slot = 0;  // 13 bits
  std::uint32_t lane = 0;  // 2 bits
  std::uint64_t seq = 0;   // 49 bits: 325 days of one operation per 50 ns on one lane

  friend constexpr bool operator==(const Tag&, const Tag&) = default;
};

inline constexpr std::uint64_t kMaxSeq = (1ull << 49) - 1;
// A tenant stops using a lane here, so that the agent can still clean it up.
inline constexpr std::uint64_t kLastTenantSeq = kMaxSeq - (1ull << 20);
// Bytes reserved on such a lane can still be given back, up to this number.
inline constexpr std::uint64_t kLastReleaseSeq = kMaxSeq - (1ull << 19);

constexpr std::uint64_t packTag(const Tag& tag) {
  return (std::uint64_t{tag.slot} << 51) | (std::uint64_t{tag.lane} << 49) | (tag.seq & kMaxSeq);
}
constexpr Tag unpackTag(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 51), static_cast<std::uint32_t>(word >> 49) & 3,
          word & kMaxSeq};
}
static_assert(kMaxSlots < (1u << 13) && kLanes <= 4);

}  // namespace divvy::ledger
