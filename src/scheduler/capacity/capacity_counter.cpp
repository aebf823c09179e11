#include "capacity/capacity_counter.h"

#include <limits>

#include "base/rng.h"
#include "engine/engine.h"

namespace divvy::scheduler {
namespace {

constexpr std::size_t kNodesAtOnce = 16;
// After so many further steps the search does not end on some nodes.
constexpr std::size_t kSpareSteps = 16;
constexpr std::int64_t kNoneEnds = std::numeric_limits<std::int64_t>::min();

}  // namespace

CapacityCount CapacityCounter::begin(const RecentShape& shape, bool after_eviction) const {
  CapacityCount count;
  count.terms.most_nodes = kNodesAtOnce;
  if (!after_eviction) return count;
  count.terms.ended = [this, priority = shape.priority](const engine::RequestId& id) {
    const RunningPod* pod = running_pods_.find(id.text);
    return pod != nullptr && pod->priority < priority && !pod->fixed;
  };
  count.terms.variant = 1 + mixed(static_cast<std::uint64_t>(shape.priority)) / 2;
  return count;
}

bool CapacityCounter::step(const RecentShape& shape, CapacityCount& count,
                           NodeCapacity& nodes) const {
  const engine::ReplicaCounter replicas(cache_.pods().engine());
  Result<engine::ReplicaCount> counted = replicas.count(shape.request, count.terms);
  if (!counted) return true;
  if (counted->unknown_nodes > 0) {
    if (count.steps == 0) count.most_steps = counted->unknown_nodes / kNodesAtOnce + kSpareSteps;
    return ++count.steps > count.most_steps;
  }
  // The engine knows all nodes. What else limits them is looked up, which is quick.
  engine::ReplicaTerms terms = count.terms;
  const std::int64_t above = terms.ended ? shape.priority : kNoneEnds;
  terms.most_on = [&](const engine::NodeName& node) {
    return nodes.most(node.text, shape.resources, above);
  };
  counted = replicas.count(shape.request, terms);
  if (counted && counted->unknown_nodes == 0) count.found = *counted;
  return true;
}

CapacityRound::CapacityRound(const CapacityCounter& counter,
                             const std::vector<const RecentShape*>& shapes)
    : counter_(counter), nodes_(counter.nodes()) {
  for (const RecentShape* shape : shapes) shapes_.push_back({*shape, {}, {}});
}

bool CapacityRound::step() {
  if (at_ == shapes_.size()) return true;
  ShapeCapacity& one = shapes_[at_];
  if (!count_) count_ = counter_.begin(one.shape, after_eviction_);
  if (!counter_.step(one.shape, *count_, nodes_)) return false;
  if (count_->found) (after_eviction_ ? one.fit_after_eviction : one.fit) = count_->found->fit;
  count_.reset();
  at_ += after_eviction_ ? 1 : 0;
  after_eviction_ = !after_eviction_;
  return at_ == shapes_.size();
}

}  // namespace divvy::scheduler
