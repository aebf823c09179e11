#include "idle_step.h"

#include <algorithm>

namespace divvy::scheduler {

IdleStep idleStep(const std::optional<std::int64_t>& since,
                  const std::optional<kube::IdleState>& state, std::int64_t now) {
  if (!state) return since ? IdleStep::kNotice : IdleStep::kNothing;
  if (!since || *since > state->since + kSameIdle) return IdleStep::kCallOff;
  return now >= state->deadline ? IdleStep::kDue : IdleStep::kNothing;
}

kube::IdleState noticedAt(std::int64_t since, std::int64_t now, const IdleTerms& terms) {
  return {since, now, now + terms.notice};
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
