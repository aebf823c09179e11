// Pools: their effect on nodes, and tenants from before a change.
#include <algorithm>

#include "core/core.h"

namespace divvy::engine {

// Computes the node's arrays and its part of the sums from its description and its bookings.
void Engine::Core::describe(Slot slot, const Node& node) {
  count(slot, -1);
  const Node applied = pools_.applied(node);
  const auto same = [](const Device& a, const Device& b) {
    return a.mode == b.mode && a.terms == b.terms;
  };
  if (std::equal(node.devices.begin(), node.devices.end(), applied.devices.begin(), same)) {
    described_.erase(node.name);
  } else {
    described_.insert_or_assign(node.name, node);
  }
  state_.describe(slot, applied, pools_);
  learnModels();
  for (const RequestId& id : on_[slot])
    state_.charge(slot, allocations_.at(id).allocation.placement, 1);
  changed(slot);
}

Result<std::vector<FormerPoolTenant>> Engine::Core::setPools(std::vector<Pool> pools) {
  if (Result<void> right = checkPools(pools); !right) return right.error();
  if (pools == pools_.all()) return formerPoolTenants();
  pools_ = Pools(std::move(pools));
  cache_.clear();
  for (const Slot slot : order_.slots()) {
    const auto other = described_.find(state_.cold[slot].node.name);
    const Node said = other == described_.end() ? state_.cold[slot].node : other->second;
    describe(slot, said);
  }
  return formerPoolTenants();
}

std::vector<FormerPoolTenant> Engine::Core::formerPoolTenants() const {
  std::vector<FormerPoolTenant> found;
  for (const auto& [id, booked] : allocations_) {
    const Placement& placement = booked.allocation.placement;
    const std::vector<Device>& devices = state_.cold[booked.slot].node.devices;
    for (const Charge& charge : placement.charges) {
      for (std::size_t i = 0; i < devices.size(); ++i) {
        const PoolName& pool = state_.poolOf(booked.slot, i);
        if (devices[i].uuid == charge.uuid && pool != placement.pool)
          found.push_back({id, charge.uuid, placement.pool, pool});
      }
    }
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const FormerPoolTenant& a, const FormerPoolTenant& b) { return a.id < b.id; });
  return found;
}

Result<PoolName> Engine::Core::poolOf(const NodeName& node, const DeviceUuid& device) const {
  const auto known = slots_.find(node);
  if (known == slots_.end())
    return Error{ErrorCode::kNotFound, "no node is called \"" + node.text + "\""};
  const std::vector<Device>& devices = state_.cold[known->second].node.devices;
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [&](const Device& one) { return one.uuid == device; });
  if (at == devices.end())
    return Error{ErrorCode::kNotFound, "node " + node.text + " has no device " + device.text};
  return state_.poolOf(known->second, static_cast<std::size_t>(at - devices.begin()));
}

}  // namespace divvy::engine
