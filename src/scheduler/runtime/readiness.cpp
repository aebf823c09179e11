#include "runtime/readiness.h"

namespace divvy::scheduler {
namespace {

// Watches break now and then, and API servers restart: that alone is no fault.
constexpr std::int64_t kMaxFailingMs = 30'000;

}  // namespace

Readiness webhookReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict) {
  Readiness readiness{true, verdict.why};
  for (const HealthSource& one : sources) {
    if (!one.failing_ms || *one.failing_ms <= kMaxFailingMs) continue;
    if (readiness.ready) readiness.text.clear();
    readiness.ready = false;
    readiness.text += (readiness.text.empty() ? "" : "; ") + one.name + ": no events for " +
                      std::to_string(*one.failing_ms / 1000) + " s: " + one.fault;
  }
  return readiness;
}

Readiness extenderReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict) {
  Readiness readiness = webhookReadiness(sources, verdict);
  if (!readiness.ready) return readiness;
  for (const HealthSource& one : sources) {
    if (one.told) continue;
    readiness.ready = false;
    readiness.text = one.name + " are being listed; " + verdict.why;
    break;
  }
  return readiness;
}

}  // namespace divvy::scheduler
