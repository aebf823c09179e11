// What a search of a plan checks before it tries: sums that have to suffice, nodes that are alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fit/fit.h"

namespace divvy::engine {

// What asks need at least of all devices of a node together: from each ask to the last.
class Needs {
 public:
  // `fits`: whether a device will do for an ask, by its place, before any of them is placed.
  // `rooms`: of the node's devices at that time.
  Needs(std::span<const Ask> asks, std::span<const DeviceRoom> rooms,
        const std::function<bool(const Ask&, std::size_t)>& fits);

  // False: an ask has too few devices even alone.
  bool possible() const { return possible_; }
  // False: the asks from `at` on need more than is left of the devices whose verdict is kOpen.
  bool enoughFrom(std::size_t at, std::span<const DeviceRoom> rooms,
                  std::span<const std::uint8_t> verdicts) const;

 private:
  struct Need {
    std::int64_t memory = 0, compute = 0, slots = 0;
  };
  std::vector<Need> from_;  // by ask, and one more: nothing
  bool possible_ = true;
};

// Two nodes of the same image are the same to a shape without rules for groups, days or parts.
std::string imageOf(const Node& node, std::span<const DeviceRoom> rooms,
                    std::span<const std::uint8_t> verdicts);

}  // namespace divvy::engine
