// Checks before the search of a plan: sums that must suffice, and nodes that are equal to a shape.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fit/fit.h"

namespace divvy::engine {

// The least that asks need of all devices of a node together: from each ask to the last.
class RemainingDemand {
 public:
  // `fits`: whether a device, by index, fits an ask before any ask is placed. `rooms`: free
  // capacity of the devices at that time.
  RemainingDemand(std::span<const DeviceDemand> demands, std::span<const DeviceRoom> rooms,
                  const std::function<bool(const DeviceDemand&, std::size_t)>& fits);

  // False: too few devices fit one of the asks, even without the other asks.
  bool possible() const { return possible_; }
  // False: the asks from `at` on need more than is left of the devices with verdict kOpen.
  bool enoughFrom(std::size_t at, std::span<const DeviceRoom> rooms,
                  std::span<const std::uint8_t> verdicts) const;

 private:
  struct DemandSum {
    std::int64_t memory = 0, compute = 0, slots = 0;
  };
  std::vector<DemandSum> from_;  // by ask, and a last entry of zeros
  bool possible_ = true;
};

// Nodes with equal images are equal to a shape without rules for groups, use by hour and
// partitions.
std::string imageOf(const Node& node, std::span<const DeviceRoom> rooms,
                    std::span<const std::uint8_t> verdicts);

}  // namespace divvy::engine
