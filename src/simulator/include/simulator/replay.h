// What a snapshot's placement decided, decided again, and what differs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace divvy::simulator {

// In place of the snapshot's own. Requests that name theirs keep it.
struct ReplayOptions {
  std::optional<engine::Policy> policy;
  std::optional<engine::DevicePolicy> devices;
};

struct Difference {
  std::string id;
  std::string name;        // empty: none
  std::int64_t at_ms = 0;  // when it was asked; of what is placed anew since when it is there
  std::string was;         // "node: device, device", "nowhere"
  std::string is;
  std::string why;
};

struct ReplayedDecisions {
  std::size_t same = 0;
  std::size_t differ = 0;
  std::size_t kept = 0;  // what they asked for is not known: they stay where they are
  // The first of them, at most kMaxExplained.
  std::vector<Difference> differences;
};
inline constexpr std::size_t kMaxExplained = 200;

struct ReplayedPending {
  std::string id;
  std::string name;
  // Nobody is before it and it fits: it would not wait.
  bool differs = false;
  bool fits = false;
  std::string where;                 // it fits
  std::string why;                   // it does not
  std::vector<std::string> changes;  // of the request: with each alone it would fit
  bool fits_anew = false;            // beside those that were placed anew
};

// Of all devices.
struct CapacityStats {
  std::int64_t compute_milli = 0;  // there is
  std::int64_t used_milli = 0;
  std::int64_t idle_milli = 0;     // may still be given
  double fragmented_milli = 0;     // of that, what requests as the snapshot's cannot use
  std::uint64_t memory_bytes = 0;  // there is
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;
  double fragmented_bytes = 0;
  std::size_t devices_in_use = 0;
};

struct Replay {
  engine::Config config;  // decided by
  // Each ask of the history by itself, by what was so at that instant.
  ReplayedDecisions decisions;
  std::uint64_t dropped = 0;
  // Those that are there, on empty nodes, in the order in which they came.
  ReplayedDecisions anew;
  std::vector<ReplayedPending> pending;
  CapacityStats before;
  CapacityStats after;  // they are placed anew

  // Every decision, and who waits, is as the snapshot says. (Where others came and went, who is
  // placed anew goes elsewhere by right: that is not asked for.)
  bool asWritten() const;
};

// Of a snapshot as snapshot::parse gives it. kUsage: what is no such.
Result<Replay> replay(const snapshot::Snapshot& snapshot, const ReplayOptions& options);

std::string json(const snapshot::Snapshot& snapshot, const Replay& replay);

}  // namespace divvy::simulator
