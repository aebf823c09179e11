#include "tenant/idle_shutdown.h"

#include <algorithm>

namespace divvy::agent {

void LastUse::note(bool at_work, std::uint64_t last_launch_ms, std::uint64_t now_ms) {
  at_ = std::max(at_, at_work ? now_ms : std::min(last_launch_ms, now_ms));
}

StopStep nextStep(const PendingStop& stop, const StopTerms& terms, const LastUse& use,
                  HookState hook, std::uint64_t now_ms) {
  switch (stop.phase) {
    case StopPhase::kNone:
      if (terms.after_ms == 0 || use.idleMs(now_ms) < terms.after_ms) break;
      return now_ms >= stop.not_before_ms ? StopStep::kNotice : StopStep::kNothing;
    case StopPhase::kNoticed:
      if (terms.after_ms == 0 || use.at() > stop.since_ms) return StopStep::kCallOff;
      if (hook == HookState::kFailed) return StopStep::kGiveUp;
      if (now_ms < stop.since_ms + terms.notice_ms) break;
      // It has the notice's time and no more.
      return hook == HookState::kRunning ? StopStep::kGiveUp : StopStep::kEnd;
    case StopPhase::kEnding:
      if (now_ms >= stop.since_ms + terms.grace_ms) return StopStep::kKill;
      break;
  }
  return StopStep::kNothing;
}

PendingStop after(StopStep step, const PendingStop& stop, const StopTerms& terms,
                  std::uint64_t now_ms) {
  switch (step) {
    case StopStep::kNotice:
      return {StopPhase::kNoticed, now_ms, 0};
    case StopStep::kEnd:
      return {StopPhase::kEnding, now_ms, 0};
    case StopStep::kCallOff:
      return {};
    case StopStep::kGiveUp:
      return {StopPhase::kNone, 0, now_ms + terms.after_ms};
    case StopStep::kNothing:
    case StopStep::kKill:
      break;
  }
  return stop;
}

std::uint64_t leftMs(const PendingStop& stop, const StopTerms& terms, std::uint64_t now_ms) {
  if (stop.phase == StopPhase::kNone) return 0;
  const std::uint64_t until =
      stop.since_ms + (stop.phase == StopPhase::kNoticed ? terms.notice_ms : terms.grace_ms);
  return until > now_ms ? until - now_ms : 0;
}

}  // namespace divvy::agent
