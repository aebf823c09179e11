#include "policy/tenant.h"

namespace divvy::arbiter {

Tenant::Tenant(TenantKey name, const Entitlement& asked, const Constants& constants)
    : key(name), terms(asked) {
  // An entry costs the higher class the work in flight and a context switch.
  gap = IdleGap(constants.gap_min, constants.gap_max, constants.inflight_best_effort,
                constants.overlap);
  reported.drained = 0;
}

bool Tenant::drained(DeadlineSet* agenda) const {
  if (!isRunnable()) return true;
  if (hold_seq != 0 && reported.drained >= hold_seq) return true;
  // An estimate from before the hold may miss the last launches, and each of several processes
  // counts only its own.
  if (processes > 1) return false;
  if (reported.inflight_until == 0 || reported_at <= stopped_at) return false;
  return agenda->reached(reported.inflight_until - last_order.overlap);
}

void Tenant::charge(double used) {
  v += virtualOf(used, weight);
  cap.spend(used);
}

}  // namespace divvy::arbiter
