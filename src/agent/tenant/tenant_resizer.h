// Changes the limits of running tenants: `divvy resize`, and resizes of pods. Private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/protocol.h"
#include "base/result.h"
#include "tenant/memory_overcommit.h"
#include "tenant/tenant_compute.h"
#include "tenant/tenant_notifier.h"
#include "tenant/tenant_table.h"

namespace divvy::agent {

// The shares and the priority that a tenant is to have.
struct Reshape {
  std::vector<ShareRecord> shares;  // of the tenant's devices, in their order
  Priority priority = Priority::kNormal;
  bool checked = false;  // fails if capacity is missing
};

// Only on the agent's one thread. `by`: the requester, in words; empty: none, or unknown.
class TenantResizer {
 public:
  // References of the resizer; all outlive it.
  struct Context {
    const TenantTable& table;
    const PlacementCapacity& capacity;
    MemoryOvercommit& overcommit;
    TenantCompute& compute;
    const TenantNotifier& notifier;
  };
  explicit TenantResizer(const Context& context) : context_(context) {}

  // Changes limits; checks capacity on the cards. Returns notes for the caller, a line each. Errors
  // name the accepted values.
  Result<std::vector<std::string>> change(const TenantPtr& tenant, const SetRequest& request,
                                          const std::string& by);
  // Sets exactly these shares and this priority. On an error nothing has changed.
  Result<void> reshape(const TenantPtr& tenant, const Reshape& wanted, const std::string& by);

 private:
  // Publishes limits that are in pages and record: to the tenant, the arbiter, the record's file
  // and the event log. `unswapped` gets the error if the swap configuration cannot be written.
  void publish(Tenant& tenant, const TenantRecord& before, const std::string& by,
               const std::function<void(const Error&)>& unswapped);

  const Context context_;
};

}  // namespace divvy::agent
