#include "tenant_shutdown/shutdown_state_machine.h"

#include <algorithm>

namespace divvy::agent {

void LastActivity::note(bool at_work, std::uint64_t last_launch_ms, std::uint64_t now_ms) {
  at_ = std::max(at_, at_work ? now_ms : std::min(last_launch_ms, now_ms));
}

ShutdownAction nextStep(const PendingShutdown& stop, const ShutdownOptions& terms,
                        const LastActivity& use, HookState hook, std::uint64_t now_ms) {
  switch (stop.phase) {
    case ShutdownPhase::kNone:
      if (terms.after_ms == 0 || use.idleMs(now_ms) < terms.after_ms) break;
      return now_ms >= stop.not_before_ms ? ShutdownAction::kNotice : ShutdownAction::kNothing;
    case ShutdownPhase::kNoticed:
      if (terms.after_ms == 0 || use.at() > stop.since_ms) return ShutdownAction::kCallOff;
      if (hook == HookState::kFailed) return ShutdownAction::kGiveUp;
      if (now_ms < stop.since_ms + terms.notice_ms) break;
      // The hook must end within the notice period.
      return hook == HookState::kRunning ? ShutdownAction::kGiveUp : ShutdownAction::kEnd;
    case ShutdownPhase::kEnding:
      if (now_ms >= stop.since_ms + terms.grace_ms) return ShutdownAction::kKill;
      break;
  }
  return ShutdownAction::kNothing;
}

PendingShutdown after(ShutdownAction step, const PendingShutdown& stop,
                      const ShutdownOptions& terms, std::uint64_t now_ms) {
  switch (step) {
    case ShutdownAction::kNotice:
      return {ShutdownPhase::kNoticed, now_ms, 0};
    case ShutdownAction::kEnd:
      return {ShutdownPhase::kEnding, now_ms, 0};
    case ShutdownAction::kCallOff:
      return {};
    case ShutdownAction::kGiveUp:
      return {ShutdownPhase::kNone, 0, now_ms + terms.after_ms};
    case ShutdownAction::kNothing:
    case ShutdownAction::kKill:
      break;
  }
  return stop;
}

std::uint64_t leftMs(const PendingShutdown& stop, const ShutdownOptions& terms,
                     std::uint64_t now_ms) {
  if (stop.phase == ShutdownPhase::kNone) return 0;
  const std::uint64_t until =
      stop.since_ms + (stop.phase == ShutdownPhase::kNoticed ? terms.notice_ms : terms.grace_ms);
  return until > now_ms ? until - now_ms : 0;
}

}  // namespace divvy::agent
