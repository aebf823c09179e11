#include "launch/idle_monitor.h"

#include "launch/inflight_limit.h"
#include "runtime.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

using ledger::loadRelaxed;
using ledger::storeRelaxed;

void IdleMonitor::publish(std::uint64_t now) {
  const ProcessUsage& usage = runtime().meter.usage();
  ledger::WorkLine& line = report_.line();
  const std::uint64_t launches = countedMetered();
  if (launches != launches_seen_) {
    launches_seen_ = launches;
    quiet_since_ = now;
    storeRelaxed(line.last_launch, now);
    storeRelaxed(line.launches, launches);
  }
  const std::uint64_t until = InflightLimit::end();
  activated_seen_ = activated_.load(std::memory_order_relaxed);
  if (activated_seen_ > quiet_since_) quiet_since_ = activated_seen_ < now ? activated_seen_ : now;
  // Quiet since the end was seen, not since it came: a thread that sees it late would take a short
  // pause for idleness. For a tenant that others yield to, that does no harm.
  if (until != 0) {
    quiet_since_ = now;
  } else if (busy_until_ != 0) {
    const std::uint64_t end = servesFirst(*grant_.terms()) ? busy_until_ : now;
    quiet_since_ = end < quiet_since_ ? quiet_since_ : end > now ? now : end;
  }
  busy_until_ = until;
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) {
    const std::uint64_t busy = usage.busy(dev);
    if (busy != loadRelaxed(line.busy[dev])) storeRelaxed(line.busy[dev], busy);
  }
  storeRelaxed(line.longest, usage.longest());
  storeRelaxed(line.settles, usage.settles());
  storeRelaxed(line.unmetered, usage.unmetered());
  storeRelaxed(line.inflight_until, until);
}

bool IdleMonitor::unchanged() const {
  return countedMetered() == launches_seen_ &&
         activated_.load(std::memory_order_relaxed) == activated_seen_;
}

void IdleMonitor::forgetAfterFork() {
  activated_.store(0, std::memory_order_relaxed);
  launches_seen_ = quiet_since_ = 0;
}

}  // namespace divvy::interposer
