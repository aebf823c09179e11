// Finds tenants that bypass their limits and applies the node's policy to them. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/inventory.h"
#include "enforcement/limit_bypass.h"
#include "enforcement/page_visibility.h"
#include "events/event_log.h"
#include "reports/grown_files.h"
#include "tenant/tenant_manager.h"
#include "tenant_shutdown/shutdown_state_machine.h"

namespace divvy::agent {

// Unmanaged processes with contexts on a device; and graphics memory, which no limit counts.
struct UnmanagedUse {
  unsigned processes = 0;
  Bytes bytes;
  Bytes graphics;  // of all processes
};

// Pending terminations are not persistent. The next agent starts again: no tenant is ended earlier
// than announced. Only on the loop's thread; the arguments must outlive the monitor.
class LimitBypassMonitor {
 public:
  // `pages`: returns the pages that a process sees in place of its share's pages.
  LimitBypassMonitor(TenantManager& tenants, const Inventory& inventory, EventLog& events,
                     BypassPolicy policy,
                     PageVisibilityMonitor::ShareRequest pages = pageVisibilityOf)
      : tenants_(tenants),
        inventory_(inventory),
        events_(events),
        policy_(policy),
        pages_seen_(std::move(pages)) {}

  // Also searches for pods without an allocation.
  void includePods() { pods_ = true; }
  // Call once a second. Does not block.
  void poll();

  struct Case {
    PodContainer pod;  // only the UID, of a pod without a tenant
    std::string what;
    std::int64_t since = 0;
  };
  // Bypasses by pods. Nothing until those from before this agent's start are known.
  std::optional<std::vector<Case>> cases() const;
  const BypassPolicy& policy() const { return policy_; }
  // By device index: the first unmanaged process that was seen in several looks.
  std::map<unsigned, std::string> occupants() const;
  // By device index: the last look.
  const std::map<unsigned, UnmanagedUse>& strangers() const { return strangers_; }

 private:
  struct Known {
    std::uint64_t start_time = 0;
    std::string owner;  // empty: unmanaged; kSelf: the agent's own
  };
  void judge(const DriverProcesses& said);
  // Drops tenants with an ID that has passed to another pod: IDs of pods' tenants derive from
  // device IDs.
  void forgetThoseBefore();
  std::string ownerOf(int pid);
  std::string findOwner(int pid) const;
  std::string inItsPod(const std::string& owner, unsigned device, const Allowances& allowed) const;
  Allowances allowances() const;
  void cutFiles();
  void followShrinks(const SeenBytes& seen);
  // Null: the owner is a pod, or has ended.
  TenantPtr tenantOf(const std::string& owner) const;
  void begin(const std::string& owner);
  void finish(const std::string& owner);
  // Ends tenants that are in no pod.
  void endThose();
  void take(ShutdownAction step, const TenantPtr& tenant);
  void emit(const std::string& owner, const char* kind, std::string reason);

  TenantManager& tenants_;
  const Inventory& inventory_;
  EventLog& events_;
  const BypassPolicy policy_;
  bool pods_ = false;
  PageVisibilityMonitor pages_seen_;
  BypassDebouncer judge_;
  std::map<int, Known> owners_;                       // by PID
  std::map<std::string, std::string> said_;           // by owner: description of the bypass
  std::map<std::string, std::string> pod_of_tenant_;  // pod and container, by tenant's ID
  struct Ending {
    PendingShutdown stop;
    LastActivity clean;  // last time without a bypass
  };
  std::map<std::string, Ending> endings_;  // by tenant's ID
  std::map<unsigned, UnmanagedUse> strangers_;
  std::map<std::pair<std::string, std::string>, Shrinking> shrinking_;  // by tenant's ID and UUID
  std::map<std::string, std::string>
      grown_;  // by tenant's ID: files that grew since the driver's last answer
  FileTruncator cutter_;
  // By device and PID: consecutive looks with an unmanaged process.
  std::map<std::pair<unsigned, int>, unsigned> stays_;
};

}  // namespace divvy::agent
