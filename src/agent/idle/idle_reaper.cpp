#include "idle/idle_reaper.h"

#include <csignal>
#include <ctime>

#include "events/event_detector.h"
#include "log/log.h"

extern char** environ;

namespace divvy::agent {
namespace {

std::string labelOf(const Tenant& tenant) {
  return tenant.record.name.empty() ? tenant.record.id : tenant.record.name;
}

// The agent's environment without variables that would make the hook a tenant's process or load
// code into it. Adds variables that describe the tenant.
std::vector<std::string> environmentFor(const Tenant& tenant, const ShutdownNotice& notice) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("DIVVY_TENANT") && !text.starts_with("DIVVY_STOP_") &&
        !text.starts_with("LD_PRELOAD="))
      environment.emplace_back(text);
  }
  environment.push_back("DIVVY_STOP_TENANT=" + notice.tenant);
  environment.push_back("DIVVY_STOP_NAME=" + notice.name);
  environment.push_back("DIVVY_STOP_PID=" + std::to_string(tenant.record.command_pid));
  environment.push_back("DIVVY_STOP_REASON=idle");
  environment.push_back("DIVVY_STOP_IDLE_SECONDS=" + std::to_string(notice.idle_ms / 1000));
  environment.push_back("DIVVY_STOP_DEADLINE=" + std::to_string(notice.deadline));
  environment.push_back("DIVVY_STOP_GRACE_SECONDS=" + std::to_string(notice.grace_ms / 1000));
  environment.push_back("DIVVY_STOP_NOTICE=" + noticePath(tenant.dir));
  return environment;
}

}  // namespace

ShutdownOptions IdleReaper::termsOf(const TenantRecord& record) const {
  return {tenants_.memory().stopMs(record), policy_.notice_ms, policy_.grace_ms};
}

void IdleReaper::withdrawNotices() {
  for (const auto& [id, tenant] : tenants_.all()) removeNotice(tenant->dir);
}

void IdleReaper::poll() {
  std::erase_if(hooks_, [&](const auto& hook) { return !tenants_.all().contains(hook.first); });
  const std::map<std::string, TenantPtr> living = tenants_.all();
  for (const auto& [id, tenant] : living) {
    // Pods are evicted, not signalled: their controller would only restart the containers.
    if (!reportsActivity(*tenant) || !tenant->record.lodger.uid.empty()) continue;
    const ShutdownOptions terms = termsOf(tenant->record);
    const HookState hook = pollHook(*tenant);
    take(nextStep(tenant->shutdown.pending(), terms, tenant->activity.use(), hook, nowMs()), tenant,
         terms);
  }
}

HookState IdleReaper::pollHook(const Tenant& tenant) {
  const auto found = hooks_.find(tenant.record.id);
  if (found == hooks_.end())
    return tenant.shutdown.pending().phase == ShutdownPhase::kNoticed && !policy_.hook.empty()
               ? HookState::kSucceeded
               : HookState::kNone;
  const HookState state = found->second.poll();
  if (state == HookState::kRunning) return state;
  const std::string& said = found->second.output();
  if (!said.empty())
    log::info("the hook of a tenant printed", {{"tenant", tenant.record.id}, {"output", said}});
  emit(tenant, "hook", policy_.hook + " ended: " + found->second.ending());
  hooks_.erase(found);
  return state;
}

void IdleReaper::take(ShutdownAction step, const TenantPtr& tenant, const ShutdownOptions& terms) {
  const PendingShutdown before = tenant->shutdown.pending();
  tenant->shutdown.pending_ = after(step, before, terms, nowMs());
  switch (step) {
    case ShutdownAction::kNothing:
      return;
    case ShutdownAction::kNotice:
      return giveNotice(*tenant, terms);
    case ShutdownAction::kCallOff:
      return callOff(*tenant, tenant->activity.use().at() > before.since_ms
                                  ? "it resumed work"
                                  : "it has no idle limit now");
    case ShutdownAction::kGiveUp:
      return callOff(*tenant, "the hook failed; tried again after " + spanWord(terms.after_ms));
    case ShutdownAction::kEnd:
      emit(*tenant, "stopped",
           "idle for " + spanWord(tenant->activity.use().idleMs(nowMs())) +
               ": SIGTERM, SIGKILL in " + spanWord(terms.grace_ms));
      return tenants_.liveness().signal(tenant, SIGTERM);
    case ShutdownAction::kKill:
      if (tenant->shutdown.noteKilled() && leftMs(before, terms, nowMs()) == 0)
        emit(*tenant, "killed", "still running " + spanWord(terms.grace_ms) + " after SIGTERM");
      return tenants_.liveness().signal(tenant, SIGKILL);
  }
}

void IdleReaper::giveNotice(const Tenant& tenant, const ShutdownOptions& terms) {
  ShutdownNotice notice;
  notice.tenant = tenant.record.id;
  notice.name = tenant.record.name;
  notice.idle_ms = tenant.activity.use().idleMs(nowMs());
  notice.deadline = std::time(nullptr) + static_cast<std::int64_t>(terms.notice_ms / 1000);
  notice.notice_ms = terms.notice_ms;
  notice.grace_ms = terms.grace_ms;
  emit(tenant, "notice",
       "idle for " + spanWord(notice.idle_ms) + ": SIGTERM in " + spanWord(terms.notice_ms) +
           " unless " + labelOf(tenant) + " works");
  const Result<void> written = writeNotice(tenant.dir, notice);
  if (!written)
    log::warn("cannot write the notice of a tenant",
              {{"tenant", notice.tenant}, {"error", written.error().message()}});
  if (!policy_.hook.empty()) startHook(tenant, notice);
}

void IdleReaper::startHook(const Tenant& tenant, const ShutdownNotice& notice) {
  Result<Hook> hook = Hook::start(policy_.hook, environmentFor(tenant, notice));
  if (hook) {
    hooks_.insert_or_assign(notice.tenant, std::move(*hook));
    return;
  }
  // Counts as failed: the hook saved nothing.
  emit(tenant, "hook", hook.error().message());
  const TenantPtr owner = tenants_.find(notice.tenant);
  if (owner != nullptr) take(ShutdownAction::kGiveUp, owner, termsOf(owner->record));
}

void IdleReaper::callOff(const Tenant& tenant, const std::string& why) {
  removeNotice(tenant.dir);
  const auto hook = hooks_.find(tenant.record.id);
  if (hook != hooks_.end()) {
    hook->second.kill();
    emit(tenant, "hook", policy_.hook + " " + hook->second.ending());
    hooks_.erase(hook);
  }
  emit(tenant, "called-off", why);
}

void IdleReaper::emit(const Tenant& tenant, const char* kind, std::string reason) {
  EventView event;
  event.tenant = tenant.record.id;
  event.name = tenant.record.name;
  event.device = tenants_.notifier().deviceOf(tenant.record);
  event.kind = kind;
  event.reason = std::move(reason);
  events_.add(std::move(event));
}

}  // namespace divvy::agent
