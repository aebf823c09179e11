// Which devices of a node are taken together for one container: rules say who may be with whom, and
// which group is better.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/refusal.h"
#include "nodes/topology.h"

namespace divvy::engine {

// Devices of one node, by their place in it, in an order that means something to whoever made it.
struct DeviceList {
  std::uint8_t count = 0;
  std::array<std::uint8_t, kMaxDevicesPerNode> at{};
};

// One thing that is wanted of a group. Asked for one node and one ask; the first rules matter most.
class GroupRule {
 public:
  virtual ~GroupRule() = default;
  // Why there is no group.
  virtual NodeWhy why() const = 0;
  // Who may be in a group with that device; without itself: it is in none.
  virtual DeviceSet mates(unsigned) const { return ~DeviceSet{0}; }
  // Whether a whole group will do, all of whom may be with each other.
  virtual bool allows(DeviceSet) const { return true; }
  // Of a whole group, or of one that is not yet: more is better.
  virtual std::int64_t score(DeviceSet) const { return 0; }
  // No group of so many has more. Goes with `score`.
  virtual std::int64_t most(unsigned) const { return 0; }
  // Whether it is as was wished; where that is so goes before where it is not.
  virtual bool met(DeviceSet) const { return true; }
};

class Groups {
 public:
  using Rules = std::vector<std::unique_ptr<const GroupRule>>;

  // At most kMaxRules.
  explicit Groups(Rules rules);

  // The best group of `count` devices of these; of equals the one whose devices come first. It is
  // the best of all where they are at most 16, or there are at most kMaxGroups groups of so many;
  // else the best that grows from one of them, taking what scores most, and cannot be bettered by
  // exchanging one device, within
  // kMaxGroupTries. None: there is none, or `gave_up`.
  struct Found {
    std::optional<DeviceSet> group;
    bool gave_up = false;
    std::uint32_t tries = 0;  // devices that were put to a group
  };
  Found best(const DeviceList& from, unsigned count) const;
  // Whether it may be taken.
  bool good(DeviceSet group) const;
  // Who may be in a group with that device.
  DeviceSet mates(unsigned device) const { return mates(device, rules_.size()); }
  // How many wishes it meets.
  unsigned met(DeviceSet group) const;
  // Of `count` of these there is no group: why not, and the most of them that would be one. The
  // first rule is told that leaves none together with those before it.
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
