// A validated copy of a report page, with the values that the agent accepts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ledger/layout.h"
#include "ledger/packed_words.h"

namespace divvy::ledger {

// Inconsistencies in a report. The values read are clamped all the same.
enum class Inconsistency : std::uint32_t {
  kTruncated = 1u << 0,    // the file is shorter than the preallocated slots
  kHeader = 1u << 1,       // magic, version, size, hash, tenant or generation changed
  kPhase = 1u << 2,        // a slot's phase is not a Phase
  kTotal = 1u << 3,        // a total is above the larger of device memory and share
  kUsed = 1u << 4,         // a process's bytes are above that
  kSequence = 1u << 5,     // a lane's sequence numbers are impossible
  kTag = 1u << 6,          // a total's tag names no lane of this page
  kSumMismatch = 1u << 7,  // no operation under way, and total differs from the slots' sum
  kFaultRing = 1u << 8,    // a fault entry has an unknown code
};
// Names of all bits set, as in "truncated, total"; empty for 0.
std::string suspicionNames(std::uint32_t bits);

struct SlotSnapshot {
  unsigned slot = 0;
  std::uint64_t generation = 0;
  Phase phase = Phase::kFree;
  Owner owner;
  std::uint32_t host_pid = 0;  // 0: not reported for this generation
  bool operation_pending = false;
  Bytes context;
  std::uint64_t last_launch_ns = 0;
  // Each at most the device's memory, or the share if that is larger.
  std::array<Bytes, kMaxDevices> used{};
  std::array<Bytes, kMaxDevices> spare{};  // admitted but not in use; same bound
};

struct DeviceUse {
  Bytes total;     // in use by the tenant's processes: admitted less spare
  Bytes admitted;  // counted in the total, spare included
  Bytes spare;     // admitted, but released and not yet reserved again
  Bytes resident;
  Bytes swapped;
};

struct FaultRecord {
  std::uint64_t number = 0;  // from 1
  std::uint32_t code = 0;
  std::uint32_t site = 0;
  std::uint64_t detail = 0;
  std::uint64_t arg = 0;
};

struct ReportSnapshot {
  std::uint32_t suspicions = 0;  // bits of Inconsistency
  std::vector<DeviceUse> devices;
  std::vector<SlotSnapshot> slots;  // the claimed ones, in order
  unsigned free_slots = 0;          // of the preallocated slots
  std::vector<FaultRecord> faults;  // oldest first; with gaps where a writer was overtaken
  std::array<std::uint64_t, kFaultKinds> fault_counts{};
  std::array<std::uint64_t, kCounters> counters{};
  std::uint64_t grants = 0;  // of all processes that ever lived
  std::uint64_t releases = 0;
  std::uint64_t refusals = 0;          // requests beyond the limit
  std::uint64_t over_limit_bytes = 0;  // largest of the slots' last such requests; 0: not known
  // Requests within the limit that the device had no memory for, and the same of their size.
  std::uint64_t device_full = 0;
  std::uint64_t device_full_bytes = 0;
  std::uint64_t pressure_waits = 0;  // allocations that waited for the device's memory

  bool suspect() const { return suspicions != 0; }
};

}  // namespace divvy::ledger
