// Ends tenants that were idle for as long as they may be: notice, hook, SIGTERM, SIGKILL. Private.
#pragma once

#include <map>
#include <string>

#include "agent/idle_policy.h"
#include "enforcement/shutdown_hook.h"
#include "idle/shutdown_notice.h"
#include "tenant/event_log.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// What is pending is not kept: another agent takes the notice away and begins anew, with all of its
// time, so nobody is ended sooner than he was told; a hook may run twice.
class IdleReaper {
 public:
  IdleReaper(TenantManager& tenants, EventLog& events, IdlePolicy policy)
      : tenants_(tenants), events_(events), policy_(std::move(policy)) {}

  // Once, when those that live on are known.
  void beginAnew();
  // Once a second; does not wait.
  void look();

  ShutdownOptions termsOf(const TenantRecord& record) const;

 private:
  HookState pollHook(const Tenant& tenant);
  void take(ShutdownAction step, const TenantPtr& tenant, const ShutdownOptions& terms);
  void giveNotice(const Tenant& tenant, const ShutdownOptions& terms);
  void startHook(const Tenant& tenant, const ShutdownNotice& notice);
  void callOff(const Tenant& tenant, const std::string& why);
  void tell(const Tenant& tenant, const char* kind, std::string reason);

  TenantManager& tenants_;
  EventLog& events_;
  const IdlePolicy policy_;
  std::map<std::string, Hook> hooks_;  // by tenant
};

}  // namespace divvy::agent
