// Devices of a node that one container takes together. Rules state which devices may be together
// and which group is better.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/refusal.h"
#include "nodes/topology.h"

namespace divvy::engine {

// Devices of one node, by index. The creator defines the order.
struct DeviceList {
  std::uint8_t count = 0;
  std::array<std::uint8_t, kMaxDevicesPerNode> at{};
};

// One requirement or preference for a group, for one node and one ask. Earlier rules take
// precedence.
class GroupRule {
 public:
  virtual ~GroupRule() = default;
  // The refusal that is reported if the rule allows no group.
  virtual NodeWhy why() const = 0;
  // Returns the devices that may be in a group with this one. A set without the device itself: no
  // group may hold it.
  virtual DeviceSet mates(unsigned) const { return ~DeviceSet{0}; }
  // Returns true if a complete group is allowed. All its devices are mates of each other.
  virtual bool allows(DeviceSet) const { return true; }
  // Score of a complete or incomplete group; larger is better.
  virtual std::int64_t score(DeviceSet) const { return 0; }
  // Upper bound of score() for groups of so many devices.
  virtual std::int64_t most(unsigned) const { return 0; }
  // Returns true if the preference is met. Nodes that meet more preferences go first.
  virtual bool met(DeviceSet) const { return true; }
};

class Groups {
 public:
  using Rules = std::vector<std::unique_ptr<const GroupRule>>;

  // Keeps the first kMaxRules rules.
  explicit Groups(Rules rules);

  // Returns the best group of `count` devices from `from`; among equals the one with the earliest
  // devices. The result is exact for at most 16 devices or at most kMaxGroups groups. Otherwise it
  // is grown from one device by the highest score, then improved by exchanges of one device, within
  // kMaxGroupTries. `group` is none if there is no group, or if the search stopped without one
  // (`gave_up`).
  struct GroupChoice {
    std::optional<DeviceSet> group;
    bool gave_up = false;
    std::uint32_t tries = 0;  // devices that were added to a group
  };
  GroupChoice best(const DeviceList& from, unsigned count) const;
  // Returns true if every rule allows the group.
  bool good(DeviceSet group) const;
  // Returns the devices that may be in a group with that device.
  DeviceSet mates(unsigned device) const { return mates(device, rules_.size()); }
  // Number of preferences that the group meets.
  unsigned met(DeviceSet group) const;
  // Returns the refusal for `count` devices of `from`: the first rule that leaves no group, given
  // the rules before it, and the size of the largest group that is then possible. kUnresolved: the
  // search was too long.
  NodeRefusal refusal(const DeviceList& from, unsigned count) const;

 private:
  class Search;
  DeviceSet mates(unsigned device, std::size_t rules) const;
  bool possible(const DeviceList& from, unsigned count, std::size_t rules, bool* gave_up) const;

  Rules rules_;
};
inline constexpr std::size_t kMaxRules = 6;
inline constexpr std::uint64_t kMaxGroups = 4096;
inline constexpr std::uint32_t kMaxGroupTries = 1u << 16;

}  // namespace divvy::engine
