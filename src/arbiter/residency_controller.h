// Applies the residency policy to the tenants of one group.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "arbiter/residency.h"
#include "policy/bandwidth_estimator.h"
#include "tenant_channel.h"

namespace divvy::arbiter {

// By the node's device number. Devices that are missing here have room for everything.
using ResidencyBudgets = std::map<unsigned, ResidencyBudget>;

// Belongs to a GroupArbiter; used by the same thread as its SchedulingPolicy.
class ResidencyController {
 public:
  using Members = std::vector<std::shared_ptr<TenantChannel>>;

  ResidencyController(const ResidencyConstants& constants, ResidencyBudgets devices);

  void setDevice(unsigned device, const ResidencyBudget& terms);
  // `member` must have its places and key.
  void add(const TenantChannel& member, Nanos now);
  void change(const TenantChannel& member, Nanos now);
  void remove(const TenantChannel& member, Nanos now);
  // Stops reading the tenant. Its memory stays counted, up to all that it is entitled to.
  void retain(const TenantChannel& member, Nanos now);
  void drop(const std::string& id, Nanos now);
  // Sets how long the tenant's turns last relative to other tenants'; `percent` is its weight in
  // compute.
  void weigh(TenantChannel* member, unsigned percent, Nanos now);

  // Reads the reports of the tenant's processes on their memory.
  void observe(TenantChannel* member, Nanos now);
  // Orders each tenant's memory. Returns true if a tenant joined or left turns of compute, or
  // parking changed.
  // parking changed.
  bool arrange(const Members& members, Nanos now);
  Nanos nextWakeup() const { return budgeted() ? policy_.nextWakeup() : kNever; }

  MemoryStats stats(const TenantChannel& member, Nanos now) const;
  std::map<unsigned, ResidencyBudgetStats> devices() const;

 private:
  struct GroupDevice {
    unsigned device = 0;  // the node's number
    ResidencyBudget terms;
    BandwidthEstimator meter;
    bool known = false;
  };

  bool budgeted() const { return !devices_.empty(); }
  // By device of the group.
  ResidencyEntitlement termsOf(const TenantChannel& member) const;
  void place(unsigned index, unsigned device);

  Residency policy_;
  ResidencyBudgets devices_;
  std::array<GroupDevice, kMaxGroupDevices> places_{};
  std::map<std::string, TenantKey> retained_;
  std::map<TenantKey, std::string> names_;  // of tenants in the group
};

}  // namespace divvy::arbiter
