// The law of residency, carried out for the tenants of one group.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "arbiter/residency.h"
#include "policy/bandwidth_estimator.h"
#include "tenant_channel.h"

namespace divvy::arbiter {

// By the node's number. Devices that are not in it have room for everything.
using StayDevices = std::map<unsigned, ResidencyBudget>;

// Belongs to an Arbiter, and is used as its Law is.
class ResidencyController {
 public:
  using Members = std::vector<std::shared_ptr<TenantChannel>>;

  ResidencyController(const ResidencyConstants& constants, StayDevices devices);

  void setDevice(unsigned device, const ResidencyBudget& terms);
  // The member has its places and key.
  void enter(const TenantChannel& member, Nanos now);
  void change(const TenantChannel& member, Nanos now);
  void leave(const TenantChannel& member, Nanos now);
  // Nothing is known of it any more: what it has stays, and may be all that it is entitled to.
  void keep(const TenantChannel& member, Nanos now);
  void forget(const std::string& id, Nanos now);
  // How long its turns last, relative to others'.
  void weigh(TenantChannel* member, unsigned percent, Nanos now);

  // Reads what the member's processes say of their memory.
  void look(TenantChannel* member, Nanos now);
  // Tells members what they may have. True: somebody takes part in turns of compute now that did
  // not, or the other way round.
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
  // In the numbers of the group.
  ResidencyEntitlement termsOf(const TenantChannel& member) const;
  void place(unsigned index, unsigned device);

  Residency policy_;
  StayDevices devices_;
  std::array<Place, kMaxGroupDevices> places_{};
  std::map<std::string, Key> kept_;
  std::map<Key, std::string> names_;  // of those that are here
};

}  // namespace divvy::arbiter
