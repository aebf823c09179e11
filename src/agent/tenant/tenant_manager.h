// Creates, recovers and removes tenants. Owns the tenant table and the classes that work on it:
// liveness, compute, memory overcommit, device health, usage audit, resize. Everything runs on the
// agent's one thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "agent/placement.h"
#include "agent/protocol.h"
#include "device/device_health_monitor.h"
#include "device/inventory.h"
#include "os/asio.h"
#include "tenant/liveness_monitor.h"
#include "tenant/memory_overcommit.h"
#include "tenant/placement_capacity.h"
#include "tenant/tenant.h"
#include "tenant/tenant_compute.h"
#include "tenant/tenant_notifier.h"
#include "tenant/tenant_resizer.h"
#include "tenant/tenant_table.h"
#include "tenant/usage_audit_monitor.h"

namespace divvy::agent {

class TenantManager {
 public:
  // `changed` runs after a tenant ended or a share changed: queued requests may fit then.
  TenantManager(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                const arbiter::Settings& compute, MemoryPolicy memory,
                std::function<void()> changed);
  // The parts refer to each other.
  TenantManager(const TenantManager&) = delete;
  TenantManager& operator=(const TenantManager&) = delete;

  // Recovers the tenants that an earlier agent left in the runtime directory.
  // Empty and half-made directories are removed. A directory with no file of Divvy's stays
  // untouched. A tenant with unreadable pages is kept while a process lives in it, or while its pod
  // or reservation lasts. kIo: the directories cannot be listed; then nothing was touched.
  Result<void> recoverAll();

  // Creates the share's directory and registers the tenant with the arbiter. Watches the holder
  // from then on. Leaves nothing behind on error.
  Result<TenantPtr> create(const RunRequest& request, const Decision& decision, Backend backend,
                           ProcessId holder);

  // Does the same for a container. The tenant lives until end(). The caller chooses `id`.
  // kUnavailable: an earlier tenant with that ID still exists.
  Result<TenantPtr> createFor(const PodContainer& lodger, const std::string& id,
                              const RunRequest& request, const Decision& decision);

  // See LivenessMonitor::end().
  void end(const TenantPtr& tenant) { liveness_.end(tenant); }

  // See TenantTable.
  const TenantTable& table() const { return table_; }
  const std::map<std::string, TenantPtr>& all() const { return table_.all(); }
  TenantPtr find(const std::string& id_or_name) const { return table_.find(id_or_name); }

  // The parts, as long as the manager lives.
  TenantNotifier& notifier() { return notifier_; }
  const DeviceHealth& health() const { return health_.health(); }
  DeviceHealthMonitor& healthMonitor() { return health_; }
  const PlacementCapacity& capacity() const { return capacity_; }
  const MemoryPolicy& memory() const { return capacity_.policy(); }
  const TenantCompute& compute() const { return compute_; }
  TenantCompute& compute() { return compute_; }
  const MemoryOvercommit& overcommit() const { return overcommit_; }
  MemoryOvercommit& overcommit() { return overcommit_; }
  LivenessMonitor& liveness() { return liveness_; }
  UsageAuditMonitor& audit() { return audit_; }
  TenantResizer& resizer() { return resizer_; }

 private:
  void recover(const std::string& id);
  // Keeps a tenant with a lost record until it is released. Where the pages leave a value open,
  // the choice frees nothing.
  void keepUnrecorded(const TenantPtr& tenant);
  // Creates the tenant's directory. The record must be complete except for the shares.
  Result<void> make(const TenantPtr& tenant, const Decision& decision);
  // From then on the tenant shares compute and memory with its neighbours.
  void registerWithArbiter(Tenant& tenant);
  void remove(const TenantPtr& tenant);

  asio::io_context& loop_;
  const NodePaths paths_;
  const Inventory& inventory_;
  TenantNotifier notifier_;
  TenantTable table_;
  DeviceHealthMonitor health_;
  PlacementCapacity capacity_;
  TenantCompute compute_;
  MemoryOvercommit overcommit_;
  LivenessMonitor liveness_;
  UsageAuditMonitor audit_;
  TenantResizer resizer_;
};

}  // namespace divvy::agent
