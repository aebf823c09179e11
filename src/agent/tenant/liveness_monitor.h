// Watches the processes that keep tenants alive: registered processes, `divvy run`, and processes
// that are found by environment or mounts. Frees the slots of ended processes. Private.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "arbiter/arbiter_manager.h"
#include "base/fd.h"
#include "ledger/liveness.h"
#include "os/asio.h"
#include "tenant/tenant_notifier.h"
#include "tenant/tenant_table.h"

namespace divvy::agent {

// Only on the agent's one thread. Writes `liveness` of tenants.
class LivenessMonitor {
 public:
  // References of the monitor; all outlive it.
  struct Context {
    asio::io_context& loop;
    const TenantTable& table;
    arbiter::ArbiterManager& arbiters;
    const TenantNotifier& notifier;
    // Called once no holder and no process keeps the tenant alive. Removes it from the table.
    std::function<void(const TenantPtr&)> remove;
  };
  explicit LivenessMonitor(Context context);

  // Watches the tenant's `divvy run`. Removes the tenant if neither that nor a process lives.
  void watchHolder(const TenantPtr& tenant);
  // Finds and watches processes that live in the tenant. Returns whether there are any. Pods'
  // processes are not looked for: their tenants live as long as the pod.
  bool watchSurvivors(const TenantPtr& tenant);
  // Watches the process that claimed this slot. Returns false if no more processes of this tenant,
  // or of all tenants, can be watched now; the next sweep tries again.
  bool watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id);
  // Whether a process lives in the tenant.
  bool inUse(const TenantPtr& tenant) {
    return !tenant->liveness.processes_.empty() || watchSurvivors(tenant);
  }
  // Marks the tenant as ended: its holder's process tree or its pod ended, or the share was
  // released. The tenant is removed when its last process has ended.
  void end(const TenantPtr& tenant);
  // Stops watching the processes of a tenant that is removed.
  static void forget(Tenant& tenant);

  // Finds processes that could not register, a bounded number for each tenant, and adds free slots.
  // Returns false if there may be more.
  bool sweep();
  // Adds free slots for more processes of this tenant. The tenant must have `pages`.
  static void makeSlots(Tenant& tenant);
  // Reports stopped processes to the arbiter, so that it does not wait for them. Once a second.
  void skipStopped();
  // Sends `signal` (SIGTERM or SIGKILL) to the processes of a tenant, or of all tenants, and to the
  // holder.
  void signal(const TenantPtr& tenant, int signal);
  void signalAll(int signal);

 private:
  void watch(WatchedProcess& watched, Fd pidfd, std::function<void()> on_exit);
  void findAndWatch(const TenantPtr& tenant, const SlotKey& key, const ledger::Owner& owner,
                    ledger::ProcessLookup& look);
  // Takes slots that are not known yet. Returns false if there were more than one sweep takes.
  bool findLost(const TenantPtr& tenant, const ledger::ReportSnapshot& report,
                ledger::ProcessLookup& look);
  static std::size_t mostWatched();
  bool mayWatch(Tenant& tenant) const;
  void reap(const TenantPtr& tenant, const SlotKey& key, unsigned tries = 0);
  // Frees the slots, a bounded number in each turn of the loop.
  void reapAll(const TenantPtr& tenant, std::vector<SlotKey> keys);
  // Removes the tenant if neither a holder nor a process keeps it alive.
  void collectIfUnused(const TenantPtr& tenant);

  const Context context_;
  // Processes of all tenants; leaves descriptors for the agent's own use.
  const std::size_t most_watched_;
};

}  // namespace divvy::agent
