#include "arbiter/settings.h"

#include <algorithm>
#include <cmath>

namespace divvy::arbiter {

Settings atSpeed(const Settings& settings, double speed) {
  Settings result = settings;
  Constants& constants = result.constants;
  for (Nanos* each : {&constants.quantum, &constants.inflight, &constants.inflight_alone,
                      &constants.inflight_best_effort, &constants.idle, &constants.overlap,
                      &constants.drain_bound, &constants.cap_depth, &constants.gap_min,
                      &constants.gap_max, &constants.share_window}) {
    *each = std::max<Nanos>(kMicrosecond, std::llround(static_cast<double>(*each) / speed));
  }
  ResidencyConstants& stay = result.residency;
  for (Nanos* each : {&stay.quantum_min, &stay.quantum_max, &stay.quantum, &stay.idle_min,
                      &stay.return_min, &stay.retry_min, &stay.retry_max, &stay.patience,
                      &stay.thrash_window, &stay.thrash_swap, &stay.park}) {
    if (*each != 0)
      *each = std::max<Nanos>(kMicrosecond, std::llround(static_cast<double>(*each) / speed));
  }
  result.escape_ms =
      static_cast<std::uint32_t>(std::max(1.0, static_cast<double>(settings.escape_ms) / speed));
  result.card_permille =
      static_cast<std::uint32_t>(std::max(1.0, std::round(settings.card_permille * speed)));
  return result;
}

}  // namespace divvy::arbiter
