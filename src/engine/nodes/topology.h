// Positions of the devices of one node: links, NUMA nodes, distances to NICs.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

using DeviceSet = std::uint64_t;  // bit set of devices of one node, by index
static_assert(kMaxDevicesPerNode <= 64);

constexpr DeviceSet only(unsigned device) {
  return DeviceSet{1} << device;
}
inline unsigned sizeOf(DeviceSet set) {
  return static_cast<unsigned>(__builtin_popcountll(set));
}
inline unsigned firstOf(DeviceSet set) {
  return static_cast<unsigned>(__builtin_ctzll(set));
}

// Immutable; safe to read from several threads.
class Topology {
 public:
  Topology() = default;
  explicit Topology(const Node& node);  // requires checkNode(node)

  std::uint32_t score(unsigned a, unsigned b) const {
    return scores_.empty() ? 0 : scores_[a * same_numa_.size() + b];
  }
  std::uint32_t mostScore() const { return most_score_; }
  // Sum of the scores of one device's links to all others.
  std::uint64_t scores(unsigned device) const { return scores_.empty() ? 0 : sums_[device]; }
  // The device and those that are directly linked to it.
  DeviceSet direct(unsigned device) const {
    return scores_.empty() ? only(device) : direct_[device];
  }
  // The device and those of its NUMA node. Empty: its NUMA node is unknown.
  DeviceSet sameNuma(unsigned device) const { return same_numa_[device]; }
  // Distance to the nearest NIC; 0 if there are no NICs.
  std::uint32_t nicDistance(unsigned device) const {
    return nearest_.empty() ? 0 : nearest_[device];
  }

 private:
  std::vector<DeviceSet> same_numa_;
  std::vector<std::uint32_t> scores_;  // by pair; empty: no links
  std::vector<std::uint64_t> sums_;
  std::vector<DeviceSet> direct_;
  std::vector<std::uint32_t> nearest_;
  std::uint32_t most_score_ = 0;
};

// Returns true if a device of the node belongs to a block or a row.
bool hasArrangement(const Node& node);

}  // namespace divvy::engine
