// Shuts down tenants that were idle for too long: notice, hook, SIGTERM, SIGKILL. Private.
#pragma once

#include <map>
#include <string>

#include "agent/idle_policy.h"
#include "events/event_log.h"
#include "tenant/tenant_manager.h"
#include "tenant_shutdown/shutdown_hook.h"
#include "tenant_shutdown/shutdown_notice.h"

namespace divvy::agent {

// Pending shutdowns are not persistent. The next agent removes the notices and starts again, with
// the whole notice time: no tenant is shut down earlier than announced. A hook may run twice.
class IdleReaper {
 public:
  IdleReaper(TenantManager& tenants, EventLog& events, IdlePolicy policy)
      : tenants_(tenants), events_(events), policy_(std::move(policy)) {}

  // Removes the notices of an earlier agent. Call once, when recovered tenants are known.
  void withdrawNotices();
  // Call once a second. Does not block.
  void poll();

  ShutdownOptions termsOf(const TenantRecord& record) const;

 private:
  HookState pollHook(const Tenant& tenant);
  void take(ShutdownAction step, const TenantPtr& tenant, const ShutdownOptions& terms);
  void giveNotice(const Tenant& tenant, const ShutdownOptions& terms);
  void startHook(const Tenant& tenant, const ShutdownNotice& notice);
  void callOff(const Tenant& tenant, const std::string& why);
  void emit(const Tenant& tenant, const char* kind, std::string reason);

  TenantManager& tenants_;
  EventLog& events_;
  const IdlePolicy policy_;
  std::map<std::string, Hook> hooks_;  // by tenant's ID
};

}  // namespace divvy::agent
