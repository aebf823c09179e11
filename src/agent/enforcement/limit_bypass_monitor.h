// Finds who goes around what limits him, and does about it what the node's policy says. Private.
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
#include "idle/idle_shutdown.h"
#include "tenant/event_log.h"
#include "tenant/grown_files.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Who has contexts on a device and is nobody's; and what only draws, whose limits count nothing of.
struct UnmanagedUse {
  unsigned processes = 0;
  Bytes bytes;
  Bytes graphics;  // of whomever
};

// What is pending is not kept: another agent begins anew, so nobody is ended sooner than he was
// told. Belongs to the loop's thread; all outlives it.
class LimitBypassMonitor {
 public:
  // `pages`: what a process finds at the place of its share's pages.
  LimitBypassMonitor(TenantManager& tenants, const Inventory& inventory, EventLog& events,
                     BypassPolicy policy,
                     PageVisibilityMonitor::ShareRequest pages = pageVisibilityOf)
      : tenants_(tenants),
        inventory_(inventory),
        events_(events),
        policy_(policy),
        pages_seen_(std::move(pages)) {}

  // Also pods that were given nothing are looked for.
  void lookForPods() { pods_ = true; }
  // Once a second; does not wait.
  void look();

  struct Case {
    PodContainer pod;  // of a pod without a tenant its UID only
    std::string what;
    std::int64_t since = 0;
  };
  // Of pods; nothing before it is known what went on when this agent began.
  std::optional<std::vector<Case>> cases() const;
  const BypassPolicy& policy() const { return policy_; }
  // By number of the device: the first process that is nobody's and has stayed for several looks.
  std::map<unsigned, std::string> occupants() const;
  // By number of the device, as it was seen last.
  const std::map<unsigned, UnmanagedUse>& strangers() const { return strangers_; }

 private:
  struct Known {
    std::uint64_t start_time = 0;
    std::string owner;  // empty: nobody's; kSelf: ours
  };
  void judge(const DriverProcesses& said);
  // Tenants of pods are called by units, which the next pod may get.
  void forgetThoseBefore();
  std::string ownerOf(int pid);
  std::string findOwner(int pid) const;
  std::string inItsPod(const std::string& owner, unsigned device, const Allowances& allowed) const;
  Allowances allowances() const;
  void cutFiles();
  void followShrinks(const SeenBytes& seen);
  // Null: a pod's, or ended.
  TenantPtr tenantOf(const std::string& owner) const;
  void begin(const std::string& owner);
  void finish(const std::string& owner);
  // Tenants that are no pods are ended here.
  void endThose();
  void take(ShutdownAction step, const TenantPtr& tenant);
  void tell(const std::string& owner, const char* kind, std::string reason);

  TenantManager& tenants_;
  const Inventory& inventory_;
  EventLog& events_;
  const BypassPolicy policy_;
  bool pods_ = false;
  PageVisibilityMonitor pages_seen_;
  BypassDebouncer judge_;
  std::map<int, Known> owners_;               // by PID
  std::map<std::string, std::string> said_;   // by owner: what it does
  std::map<std::string, std::string> whose_;  // by tenant: which of those who were called so
  struct Ending {
    PendingShutdown stop;
    LastActivity clean;  // when it did nothing of the kind
  };
  std::map<std::string, Ending> endings_;  // by tenant
  std::map<unsigned, UnmanagedUse> strangers_;
  std::map<std::pair<std::string, std::string>, Shrinking> shrinking_;  // by tenant and UUID
  std::map<std::string, std::string> grown_;  // by tenant: what grew since the driver answered
  FileTruncator cutter_;
  // How often processes that are nobody's were seen in a row, by device and PID.
  std::map<std::pair<unsigned, int>, unsigned> stays_;
};

}  // namespace divvy::agent
