// Tenants' compute: registration with the arbiter, entitlement to device time, and whether the gate
// reports activity. Private.
#pragma once

#include <optional>

#include "arbiter/arbiter_manager.h"
#include "device/inventory.h"
#include "tenant/placement_capacity.h"
#include "tenant/tenant.h"

namespace divvy::agent {

// The tenant's entitlement to the time of each of its devices, while it keeps to its limits.
arbiter::Entitlement entitlementOf(const TenantRecord& record);

// Owns the arbiters. Only on the agent's one thread. The arguments must outlive it.
class TenantCompute {
 public:
  TenantCompute(const Inventory& inventory, const MemoryPolicy& policy,
                const arbiter::Settings& settings)
      : inventory_(inventory), policy_(policy), arbiters_(settings) {}

  arbiter::ArbiterManager& arbiters() { return arbiters_; }

  // Registers the tenant with the arbiter, which from then on shares compute between the tenant and
  // its neighbours. Requires arbiterGates() of its backend.
  void add(const Tenant& tenant);
  // Names the backend in the tenant's grant pages, where another one than the arbiter enforces.
  static void noteBackend(const Tenant& tenant);
  // Logs why the tenant's compute is not shared, if it is not.
  void warnIfUngated(const Tenant& tenant) const;
  // Sends the tenant's present entitlement to the arbiter.
  void update(const Tenant& tenant);
  // Reduces the tenant's device time to almost nothing while it bypasses its limits; restores it
  // after.
  void throttle(Tenant& tenant, bool throttled);
  // Opens the activity reader if the tenant has an idle shutdown. Sets the record's `counted`.
  void openActivity(Tenant& tenant) const;
  // Whether reportsActivity() holds and the tenant's gate reports all of its work.
  bool activityKnown(const Tenant& tenant) const;
  // Nothing for a broken tenant, or one with compute under another backend.
  std::optional<arbiter::TenantStats> figures(const Tenant& tenant) const {
    return arbiters_.stats(tenant.record.id);
  }

 private:
  arbiter::Entitlement policyOf(const Tenant& tenant) const;

  const Inventory& inventory_;
  const MemoryPolicy& policy_;
  arbiter::ArbiterManager arbiters_;
};

}  // namespace divvy::agent
