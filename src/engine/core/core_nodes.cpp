// Nodes and the sums over them.
#include "core/core.h"

namespace divvy::engine {
namespace {

// Nodes evaluated after each change, so that the next query has less to do. Enough for some hundred
// shapes, and bounded for shapes that are queried rarely.
constexpr std::size_t kTidied = 256;

}  // namespace

void Engine::Core::learnModels() {
  for (; models_learned_ < state_.models().size(); ++models_learned_) {
    fragments_.addModel(state_.models()[models_learned_].name);
  }
}

// A node's part of the sums.
void Engine::Core::count(Slot slot, int sign) {
  const ColdNode& cold = state_.cold[slot];
  for (std::size_t i = 0; i < cold.used.size(); ++i) {
    capacity_ += sign * cold.node.devices[i].compute.milli;
    used_ += sign * cold.used[i].compute;
  }
  idle_ += sign * state_.node.compute_free[slot];
  fragment_ += sign * state_.node.fragment[slot];
}

// Must be called after the slot's arrays changed. The caller has removed its part of the sums
// before.
void Engine::Core::changed(Slot slot) {
  const std::uint32_t first = state_.node.first[slot];
  state_.node.fragment[slot] =
      fragments_.weighted({state_.node.cpu_free[slot], state_.device.compute_free.data() + first,
                           state_.node.devices[slot]},
                          state_.node.model[slot], state_.device.model.data() + first);
  count(slot, 1);
  log_.note(slot);
}

void Engine::Core::tidy(Slot changed) {
  // An engine that has just started has no shapes to update, while each node that is added asks for
  // its place.
  if (cache_.empty() || trials_ > 0) return;
  cache_.tidy(kTidied, order_.placeOf(changed), [&](Scores& scores, std::size_t most) {
    return scores.update(scorer_, order_, log_, state_.models(), most, budget_);
  });
}

Result<void> Engine::Core::setNode(const Node& node) {
  const Result<void> right = checkNode(node);
  if (!right) return right;
  const auto known = slots_.find(node.name);
  Slot slot = 0;
  if (known == slots_.end()) {
    slot = state_.put(Node{}, pools_);
    slots_[node.name] = slot;
    log_.grow(state_.slots());
    on_.resize(state_.slots());
    order_.add(slot, node);
  } else {
    slot = known->second;
    order_.update(slot, node);
  }
  describe(slot, node);
  return {};
}

std::vector<Allocation> Engine::Core::removeNode(const NodeName& name) {
  std::vector<Allocation> gone;
  const auto known = slots_.find(name);
  if (known == slots_.end()) return gone;
  const Slot slot = known->second;
  while (!on_[slot].empty()) {
    const auto at = allocations_.find(*on_[slot].begin());
    gone.push_back(at->second.allocation);
    removeAllocation(at);
  }
  count(slot, -1);
  order_.remove(slot);
  state_.remove(slot);
  described_.erase(name);
  slots_.erase(known);
  changed(slot);
  return gone;
}

Result<void> Engine::Core::setTarget(const Target& target) {
  const Result<void> right = checkTarget(target);
  if (!right) return right;
  fragments_.setTarget(target);
  cache_.clear();
  for (const Slot slot : order_.slots()) {
    count(slot, -1);
    changed(slot);
  }
  return {};
}

std::vector<NodeName> Engine::Core::nodes() const {
  std::vector<NodeName> names;
  names.reserve(order_.size());
  for (const Slot slot : order_.slots()) names.push_back(state_.cold[slot].node.name);
  return names;
}

Result<std::vector<DeviceUsed>> Engine::Core::used(const NodeName& node) const {
  const auto known = slots_.find(node);
  if (known == slots_.end() || !state_.cold[known->second].there)
    return Error{ErrorCode::kNotFound, "no node is called \"" + node.text + "\""};
  const ColdNode& cold = state_.cold[known->second];
  std::vector<DeviceUsed> all;
  all.reserve(cold.used.size());
  for (std::size_t i = 0; i < cold.used.size(); ++i) {
    const UsedDevice& used = cold.used[i];
    all.push_back({cold.node.devices[i].uuid, state_.poolOf(known->second, i),
                   Bytes{static_cast<std::uint64_t>(used.memory)},
                   Compute{static_cast<std::int32_t>(used.compute)}, used.slots});
  }
  return all;
}

Usage Engine::Core::usage() const {
  return {capacity_, used_, idle_,
          static_cast<double>(fragment_) / static_cast<double>(fragments_.weight())};
}

}  // namespace divvy::engine
