#include "idle_step.h"

#include <algorithm>

namespace divvy::scheduler {

IdleStep idleStep(const std::optional<kube::IdlePod>& said,
                  const std::optional<kube::IdleState>& state, std::int64_t now) {
  if (!state) return said ? IdleStep::kNotice : IdleStep::kNothing;
  if (!said || said->since > state->since + kSameIdle) return IdleStep::kCallOff;
  if (!state->told) return IdleStep::kTell;
  const bool due = now >= state->deadline && said->confirmed == state->deadline;
  return due ? IdleStep::kDue : IdleStep::kNothing;
}

kube::IdleState noticedAt(std::int64_t since, std::int64_t now, const IdleTerms& terms) {
  return {since, now, now + terms.notice, false};
}

kube::IdleState extendedBy(const kube::IdleState& state, std::int64_t seconds, std::int64_t now,
                           const IdleTerms& terms) {
  kube::IdleState later = state;
  const std::int64_t last = state.noticed + terms.notice + terms.extension;
  later.deadline =
      std::max(state.deadline, std::min(now + std::max<std::int64_t>(seconds, 0), last));
  return later;
}

}  // namespace divvy::scheduler
