// Tenants' use of this node's devices, as placement sees it. Private.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/oversubscription.h"
#include "agent/placement.h"
#include "device/device_health.h"
#include "device/inventory.h"
#include "tenant/tenant_table.h"

namespace divvy::agent {

// Rules for the memory of this node's devices, and for tenants that do not use them.
struct MemoryPolicy {
  std::vector<DeviceTerms> devices;  // in the inventory's order
  Bytes host_reserve;
  Bytes chunk = kSwapChunk;
  bool host_map = false;  // requested, and the driver's version supports it
  IdleLimits reclaim, stop;

  // Milliseconds of idleness after which the tenant is shut down; 0: never.
  std::uint64_t stopMs(const TenantRecord& record) const {
    return record.idle.stop_ms.value_or(stop.of(record.priority));
  }
  // Milliseconds of idleness after which its memory is swapped out; 0: never.
  std::uint64_t reclaimMs(const TenantRecord& record) const {
    return record.idle.reclaim_ms.value_or(reclaim.of(record.priority));
  }
};

// Input of placement: the cards, and the allocations on them. The node has no name.
struct PlacementInput {
  std::vector<Card> cards;
  std::vector<engine::Allocation> held;
};

// The most memory of the share's device that the tenant can use. The driver's own memory is part of
// the slack.
Bytes mostUsed(const TenantRecord& record, const ShareRecord& share);

// Only on the agent's one thread. The arguments must outlive it.
class PlacementCapacity {
 public:
  PlacementCapacity(const TenantTable& table, const Inventory& inventory,
                    const DeviceHealth& health, MemoryPolicy policy)
      : table_(table), inventory_(inventory), health_(health), policy_(std::move(policy)) {}

  const MemoryPolicy& policy() const { return policy_; }
  // Takes over an earlier agent's overcommit and budget for the device at `place` of the inventory,
  // unless an option set them. `budget` 0: all that is free of foreign use.
  void inherit(std::size_t place, unsigned overcommit_permille, Bytes budget);

  // The cards as placement sees them for a request of priority `asker`. The tenant `except` is left
  // out.
  std::vector<Card> cards(const Tenant* except = nullptr, Priority asker = Priority::kLow) const {
    return placementInput(except, asker).cards;
  }
  PlacementInput placementInput(const Tenant* except = nullptr,
                                Priority asker = Priority::kLow) const;
  // The allocations of all tenants, for a request of priority `asker`.
  std::vector<AllocationOwner> holders(Priority asker) const;

 private:
  const TenantTable& table_;
  const Inventory& inventory_;
  const DeviceHealth& health_;
  MemoryPolicy policy_;
};

}  // namespace divvy::agent
