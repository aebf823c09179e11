#include "credibility_monitor.h"

#include <algorithm>

namespace divvy::arbiter {
namespace {

// A waiting process may be descheduled; this many grants in a row are no coincidence.
constexpr unsigned kSilentGrants = 3;

}  // namespace

void CredibilityMonitor::excuse(const Counters& counters, Nanos now) {
  credible_ = true;
  worked_ = held_ = proved_ = false;
  silent_grants_ = 0;
  settled_ = counters;
  settled_at_ = ended_at_ = now;
}

void CredibilityMonitor::beginGrant() {
  assessGrant();
  proved_ = worked_ = held_ = false;
}

void CredibilityMonitor::endGrant(Nanos length, Nanos now) {
  granted_for_ = length;
  ended_at_ = now;
}

void CredibilityMonitor::assess(const Report& report, const Counters& counters,
                                std::optional<Nanos> granted_at, Nanos now) {
  if (counters.settles != settled_.settles) {
    settled_ = counters;
    settled_at_ = now;
    proved_ = true;
    credible_ = true;
    silent_grants_ = 0;
    return;
  }
  const bool launched = counters.launches != settled_.launches;
  if (granted_at) {
    worked_ = worked_ || report.in_flight || launched;
    held_ = held_ || worked_ || report.waiting;
    const bool silent = now - std::max(settled_at_, *granted_at) > provingTime();
    if (launched && silent) credible_ = false;
  } else if (now - ended_at_ > provingTime()) {
    assessGrant();
  }
}

// Work of a long kernel is settled some time after the grant has ended.
void CredibilityMonitor::assessGrant() {
  const bool silent = held_ && !proved_ && granted_for_ >= provingGrant();
  held_ = false;
  if (!silent) return;
  ++silent_grants_;
  if (worked_ || silent_grants_ >= kSilentGrants) credible_ = false;
}

}  // namespace divvy::arbiter
