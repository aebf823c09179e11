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
using StayDevices = std::map<unsigned, ResidencyBudget>;

// Belongs to a GroupArbiter; used by the same thread as its SchedulingPolicy.
class ResidencyController {
 public:
  using Members = std::vector<std::shared_ptr<TenantChannel>>;

  ResidencyController(const ResidencyConstants& constants, StayDevices devices);

  void setDevice(unsigned device, const ResidencyBudget& terms);
  // `member` must have its places and key.
  void enter(const TenantChannel& member, Nanos now);
  void change(const TenantChannel& member, Nanos now);
  void leave(const TenantChannel& member, Nanos now);
  // Stops reading the tenant. Its memory stays counted, up to all that it is entitled to.
  void keep(const TenantChannel& member, Nanos now);
  void forget(const std::string& id, Nanos now);
  // Sets how long the tenant's turns last relative to other tenants'; `percent` is its weight in
  // compute.
  void weigh(TenantChannel* member, unsigned percent, Nanos now);

  // Reads the reports of the tenant's processes on their memory.
  void look(TenantChannel* member, Nanos now);
  // Orders each tenant's memory. Returns true if a tenant joined or left turns of compute, or
  // parking changed.
  // parking changed.
  bool arrange(const Members& members, Nanos now);
  Nanos wakeAt() const { return budgeted() ? policy_.wakeAt() : kNever; }

  MemoryStats figures(const TenantChannel& member, Nanos now) const;
  std::map<unsigned, ResidencyBudgetStats> devices() const;

 private:
  struct Place {
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
  StayDevices devices_;
  std::array<Place, kMaxGroupDevices> places_{};
  std::map<std::string, Key> kept_;
  std::map<Key, std::string> names_;  // of tenants in the group
};

}  // namespace divvy::arbiter
