#include "fit/group_rules.h"

#include <algorithm>
#include <utility>

#include "fit/block_topology.h"
#include "fit/node_score.h"

namespace divvy::engine {
namespace {

template <typename Of>
std::int64_t sumOver(DeviceSet group, const Of& of) {
  std::int64_t sum = 0;
  for (; group != 0; group &= group - 1) sum += of(firstOf(group));
  return sum;
}

class NumaRule : public GroupRule {
 public:
  NumaRule(const Topology& topology, bool required) : topology_(topology), required_(required) {}

  NodeWhy why() const override { return NodeWhy::kNuma; }
  DeviceSet mates(unsigned device) const override {
    return required_ ? topology_.sameNuma(device) : ~DeviceSet{0};
  }
  std::int64_t score(DeviceSet group) const override { return met(group) ? 1 : 0; }
  std::int64_t most(unsigned) const override { return 1; }
  bool met(DeviceSet group) const override {
    return (group & ~topology_.sameNuma(firstOf(group))) == 0;
  }

 private:
  const Topology& topology_;
  const bool required_;
};

// Among equal sums a group with all links direct goes first. A single device scores better with
// fewer links to others, because linked devices may be wanted together.
class LinkRule : public GroupRule {
 public:
  LinkRule(const Topology& topology, bool required) : topology_(topology), required_(required) {}

  NodeWhy why() const override { return NodeWhy::kLinks; }
  DeviceSet mates(unsigned device) const override {
    return required_ ? topology_.direct(device) : ~DeviceSet{0};
  }
  std::int64_t score(DeviceSet group) const override {
    if (sizeOf(group) == 1) return -static_cast<std::int64_t>(topology_.scores(firstOf(group)));
    const DeviceSet all = group;
    std::int64_t sum = 0;
    for (; group != 0; group &= group - 1) {
      const unsigned a = firstOf(group);
      sum += sumOver(group & (group - 1), [&](unsigned b) { return topology_.score(a, b); });
    }
    return 2 * sum + (met(all) ? 1 : 0);
  }
  std::int64_t most(unsigned count) const override {
    return std::int64_t{topology_.mostScore()} * count * (count - 1) + 1;
  }
  bool met(DeviceSet group) const override {
    for (DeviceSet left = group; left != 0; left &= left - 1)
      if ((group & ~topology_.direct(firstOf(left))) != 0) return false;
    return true;
  }

 private:
  const Topology& topology_;
  const bool required_;
};

class NicRule : public GroupRule {
 public:
  // Without a name: the nearest NIC of each device, if there is one.
  NicRule(const Node& node, const Topology& topology, const NicName& wanted)
      : topology_(topology), named_(!wanted.empty()) {
    const auto at = std::find_if(node.nics.begin(), node.nics.end(),
                                 [&](const Nic& nic) { return nic.name == wanted; });
    if (at != node.nics.end()) distances_ = &at->distances;
  }

  NodeWhy why() const override { return NodeWhy::kNic; }
  DeviceSet mates(unsigned) const override {
    return named_ && distances_ == nullptr ? 0 : ~DeviceSet{0};
  }
  std::int64_t score(DeviceSet group) const override {
    return -sumOver(group, [&](unsigned device) {
      return std::int64_t{distances_ == nullptr ? topology_.nicDistance(device)
                                                : (*distances_)[device]};
    });
  }

 private:
  const Topology& topology_;
  const bool named_;
  const std::vector<std::uint32_t>* distances_ = nullptr;
};

// Wings of one kind: a wing in use is filled before another one is begun.
class WingRule : public GroupRule {
 public:
  WingRule(const NodeScore& merit, DeviceSet used) : merit_(merit), used_(used) {}

  // The rule refuses nothing, and no request asked for it.
  bool met(DeviceSet) const override { return false; }
  NodeWhy why() const override { return NodeWhy::kLinks; }
  std::int64_t score(DeviceSet group) const override {
    return bubblesOf(merit_.wings, used_) - bubblesOf(merit_.wings, used_ | group);
  }
  std::int64_t most(unsigned) const override { return bubblesOf(merit_.wings, used_); }

 private:
  const NodeScore& merit_;
  const DeviceSet used_;
};

void addWings(const HotState& state, Slot slot, Groups::Rules* rules) {
  const std::uint32_t first = state.node.first[slot];
  for (const NodeScore& merit : state.cold[slot].node.merits) {
    if (merit.wings.empty() || rules->size() + 1 >= kMaxRules) continue;
    DeviceSet used = 0;
    for (unsigned i = 0; i < state.node.devices[slot]; ++i)
      if (state.device.tenants[first + i] > 0 || state.device.closed[first + i] != kOpen)
        used |= only(i);
    rules->push_back(std::make_unique<WingRule>(merit, used));
  }
}

}  // namespace

Groups groupsFor(const HotState& state, const ShapeClass& shape, Slot slot) {
  const ColdNode& cold = state.cold[slot];
  const DevicePolicy& policy = shape.devices();
  Groups::Rules rules;
  addArrangement(cold.node, &rules);
  if (policy.numa != Preference::kNone)
    rules.push_back(
        std::make_unique<NumaRule>(cold.topology, policy.numa == Preference::kRequired));
  if (policy.links != Preference::kNone)
    rules.push_back(
        std::make_unique<LinkRule>(cold.topology, policy.links == Preference::kRequired));
  addWings(state, slot, &rules);
  rules.push_back(std::make_unique<NicRule>(cold.node, cold.topology, policy.nic));
  return Groups(std::move(rules));
}

}  // namespace divvy::engine
