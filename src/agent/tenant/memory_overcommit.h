// Device memory that is promised more than once: the swap configuration of each tenant, its memory
// entitlement at the arbiter, and the budgets of devices. Private.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "arbiter/arbiter_manager.h"
#include "base/result.h"
#include "checkpoint/checkpoint_eligibility.h"
#include "ledger/tenant_ledger.h"
#include "tenant/placement_capacity.h"
#include "tenant/tenant_table.h"

namespace divvy::agent {

// Only on the agent's one thread. The arguments must outlive it. Writes `swap` and `checkpoint` of
// tenants.
class MemoryOvercommit {
 public:
  MemoryOvercommit(const TenantTable& table, const Inventory& inventory,
                   PlacementCapacity& capacity, arbiter::ArbiterManager& arbiters)
      : table_(table), inventory_(inventory), capacity_(capacity), arbiters_(arbiters) {}

  // Takes an earlier agent's values from the tenant's record and pages: whether the tenant is
  // checkpointed, and overcommit and budget of its devices, where no option sets them.
  void inheritConfig(Tenant& tenant);
  // Creates all swap files of a pod's tenant: a container's mounts are chosen before it is known
  // whether its memory is ever swapped. Does nothing for other tenants.
  Result<void> makeSwapFiles(Tenant& tenant) const;
  // Writes the swap configuration into the tenant's pages, if any of its memory can be swapped.
  Result<void> writeConfig(Tenant& tenant);
  // Sends the tenant's memory entitlement to the arbiter.
  void updateEntitlement(const Tenant& tenant);
  // Updates the arbiter's budgets of devices with memory that is promised more than once.
  // `new_sample`: a second has passed since the last one.
  void updateBudgets(bool new_sample);
  // Samples activity and swap rates of tenants, and updates the budgets of devices with memory that
  // is promised more than once. Memory that unmanaged processes use is left out of a budget. First
  // called when recovered tenants and their processes are known; then once a second.
  void updateResidency();

  // A checkpoint's data of each of the tenant's devices.
  std::vector<DeviceFootprint> footprints(const Tenant& tenant) const;
  // Records the tenant's checkpoint phase and status. The record is saved before the arbiter is
  // notified.
  Result<void> noteCheckpoint(Tenant& tenant, CheckpointPhase phase,
                              const CheckpointStatus& status);
  // Nothing for a device with memory that is promised once.
  std::optional<arbiter::ResidencyBudgetStats> residency(unsigned device) const {
    return arbiters_.device(device);
  }

 private:
  // The key by which the tenant's processes, and those of its pod's other containers, recognise
  // each other. Zero outside of containers: agent and tenants are one user there, and a block's
  // name suffices to use its memory. kUnavailable: no random key could be drawn.
  Result<ledger::SipKey> ipcKeyOf(const TenantRecord& record) const;
  // Whether the arbiter accounts for the tenant's memory.
  bool booked(const Tenant& tenant) const;
  // Whether the device's memory is promised more than once, or was.
  bool shared(const Device& device) const;
  std::size_t positionOf(const Device& device) const;  // in the inventory

  const TenantTable& table_;
  const Inventory& inventory_;
  PlacementCapacity& capacity_;
  arbiter::ArbiterManager& arbiters_;
  std::map<unsigned, std::vector<Bytes>> foreign_;  // the last few seconds, by device
  std::map<unsigned, arbiter::ResidencyBudget> told_;
};

}  // namespace divvy::agent
