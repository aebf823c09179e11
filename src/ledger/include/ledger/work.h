// The bytes of a tenant's work page, <dir>/work: reports of its processes on their work on the
// devices. Since minor 3 of the layout; a tenant directory without the file runs ungated.
//
// Written by the tenant, hostile for the agent, which reads it by pread or under a SIGBUS guard and
// accepts only bounded values. Rules of the format as in layout.h. All instants and durations are
// CLOCK_MONOTONIC nanoseconds of the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger/layout.h"

namespace divvy::ledger {

inline constexpr std::uint64_t kWorkMagic = 0x4b52575956564944;  // "DIVVYWRK" in the file

// Bits of WorkLine::state.
inline constexpr std::uint32_t kWorkWaiting = 1u << 0;   // a thread waits at the gate
inline constexpr std::uint32_t kWorkInFlight = 1u << 1;  // launched work is not known to have ended
inline constexpr std::uint32_t kWorkCapturing = 1u << 2;
inline constexpr std::uint32_t kWorkUngated = 1u << 3;  // the agent seems to have ended

// One process: the one in the slot with the same index. Its threads write the line. It counts only
// while the slot is live in this generation.
struct alignas(64) WorkLine {
  std::uint64_t owner;  // 1 + the slot's generation; 0: not claimed yet. Written last when claimed
  std::uint32_t state;  // kWork* bits
  std::uint32_t waiting;         // threads at the gate now
  std::uint64_t seen_seq;        // last grant sequence that any thread acted upon
  std::uint64_t drained_seq;     // work launched before this sequence was seen has ended
  std::uint64_t inflight_until;  // estimated end of the work in flight
  std::uint64_t changed;         // grows with each change of `state`
  std::uint64_t last_launch;     // when a launch was last seen; coarse
  std::uint64_t longest;         // longest single kernel or graph so far
  // Only grow.
  alignas(64) std::uint64_t launches;
  std::uint64_t settles;    // times that finished work was accounted
  std::uint64_t waits;      // times that a thread had to wait at the gate
  std::uint64_t throttled;  // time that threads waited; of several at once the longest counts
  std::uint64_t escapes;    // waits given up because work in flight may depend on the waiter
  std::uint64_t unmetered;  // launches charged by estimate only (capture, no events, ...)
  std::uint64_t cpu;        // processor time of our own thread in that process
  // When kWorkInFlight was last set or cleared, written before the bit. 0: the library is older.
  std::uint64_t turned;
  // Per device of the control page: time during which work of this process was in progress, as a
  // union over streams. Only grows.
  alignas(64) std::uint64_t busy[kMaxDevices];
};

struct alignas(64) WorkHeader {
  Identification id;
  char tenant_id[32];
  char reserved_a[32];
  // Futex. Grows and is woken when a line changed in a way that the arbiter may wait for. It does
  // not change when a process with work in flight begins to wait. It grows without a wake if the
  // arbiter soon reads the lines anyway, or reads the instant later (Grant::reads_turned).
  alignas(64) std::uint32_t bell;
  char reserved_b[60];
  char reserved_c[64];
};

struct WorkPage {
  WorkHeader header;
  WorkLine lines[kMaxSlots];
};

static_assert(sizeof(WorkLine) == 256 && offsetof(WorkLine, launches) == 64);
static_assert(offsetof(WorkLine, busy) == 128);
static_assert(sizeof(WorkHeader) == 256 && offsetof(WorkHeader, bell) == 128);
static_assert(sizeof(WorkPage) == 256 + 4096 * 256);

// Bytes of the file that must be backed by storage while `slots` are ready.
constexpr std::size_t workBytes(unsigned slots) {
  return sizeof(WorkHeader) + std::size_t{slots} * sizeof(WorkLine);
}

}  // namespace divvy::ledger
