// Repeats the decisions of a snapshot and reports differences. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace divvy::simulator {

// Policies that replace those of the snapshot. A request with a policy of its own keeps it.
struct ReplayOptions {
  std::optional<engine::Policy> policy;
  std::optional<engine::DevicePolicy> devices;
};

// A decision with another result.
struct Difference {
  std::string id;
  std::string name;        // empty: none
  std::int64_t at_ms = 0;  // of the request; of an allocation placed again: its start
  std::string was;         // "node: device, device", "nowhere"
  std::string is;          // the result of now, in the form of `was`
  std::string why;         // for users
};

// Repeated decisions, counted.
struct ReplayedDecisions {
  std::size_t same = 0;
  std::size_t differ = 0;
  std::size_t kept = 0;  // requests are not known; they stay where they are
  // The first kMaxExplained differences.
  std::vector<Difference> differences;
};
inline constexpr std::size_t kMaxExplained = 200;

// A pending request, decided on the snapshot's state.
struct ReplayedPending {
  std::string id;
  std::string name;
  // It fits and is first in line, so it would not wait.
  bool differs = false;
  bool fits = false;
  std::string where;                 // placement, if it fits
  std::string why;                   // reason, if it does not fit
  std::vector<std::string> changes;  // changes of the request; each alone would make it fit
  bool fits_anew = false;            // it fits after all allocations are placed again
};

// Capacity of all devices. Compute is in thousandths of a device.
struct CapacityStats {
  std::int64_t compute_milli = 0;  // capacity
  std::int64_t used_milli = 0;
  std::int64_t idle_milli = 0;     // can still be allocated
  double fragmented_milli = 0;     // the part that requests like the snapshot's cannot use
  std::uint64_t memory_bytes = 0;  // capacity
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;
  double fragmented_bytes = 0;
  std::size_t devices_in_use = 0;
};

// The result of a replay.
struct Replay {
  engine::Config config;  // of the repeated decisions
  // Each request of the history, decided on the state at its instant.
  ReplayedDecisions decisions;
  std::uint64_t dropped = 0;  // requests that the history lacks
  // All allocations, placed again on empty nodes in the order of their start.
  ReplayedDecisions anew;
  std::vector<ReplayedPending> pending;
  CapacityStats before;
  CapacityStats after;  // all allocations placed again

  // Returns whether all decisions and all pending requests agree with the snapshot. Differences of
  // allocations placed again do not count: allocations that have ended may have caused them.
  bool asWritten() const;
};

// Replays a snapshot from snapshot::parse(). kUsage: the engine does not accept a part of it.
Result<Replay> replay(const snapshot::Snapshot& snapshot, const ReplayOptions& options);

// Returns the result as a JSON document.
std::string json(const snapshot::Snapshot& snapshot, const Replay& replay);

}  // namespace divvy::simulator
