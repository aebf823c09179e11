#include "policy/quantum_scheduler.h"

#include <algorithm>
#include <tuple>

namespace divvy::arbiter {
namespace {

// Maximum length of a turn, in quanta.
constexpr Nanos kMaxQuanta = 4;

}  // namespace

void QuantumScheduler::turn(DeadlineSet* agenda) {
  agenda_ = agenda;
  for (const auto& tenant : group_.tenants()) {
    if (!tenant->active()) continue;
    updateSolo(tenant.get());
    if (!tenant->solo) throttle(tenant.get());
  }
  group_.raiseFloors();
  // Each round ends a leave, or stops or starts a tenant. Permission depends on higher classes
  // only, so the rounds terminate.
  const std::size_t rounds = 3 * group_.tenants().size() + 3;
  for (std::size_t round = 0; round < rounds; ++round) {
    bool changed = finishDraining();
    changed |= stopForbidden();
    changed |= serve();
    if (!changed) break;
  }
  noteAlone();
}

void QuantumScheduler::updateSolo(Tenant* tenant) {
  const bool solo = tenant->unshared() && !tenant->terms.never_open;
  if (solo == tenant->solo) return;
  tenant->solo = solo;
  tenant->turn = RunState::kIdle;
  tenant->throttled = false;
  // It ran until now without an account, so it gets the first turn.
  if (!solo) run(tenant, agenda_->now() + group_.constants().quantum);
}

void QuantumScheduler::throttle(Tenant* tenant) {
  if (tenant->terms.ceiling >= 100) {
    tenant->throttled = false;
    return;
  }
  const Nanos now = agenda_->now();
  if (tenant->throttled) {
    const Nanos wait = tenant->cap.timeTo(tenant->cap.depth() / 2 + tenant->meter.unsettled());
    if (!agenda_->reached(now + wait)) return;
    tenant->throttled = false;
    group_.limitLag(tenant);
    return;
  }
  const double left = tenant->cap.level() - tenant->meter.unsettled();
  if (left <= 0) {
    tenant->throttled = true;
    throttle(tenant);
  } else if (tenant->turn == RunState::kRunning && tenant->isRunnable()) {
    agenda_->reached(now + tenant->timeToUse(left));
  }
}

// A class above blocks it while a tenant of that class runs or will run, and for some time after.
bool QuantumScheduler::blocked(const Tenant& tenant) const {
  for (const Tenant* above : tenant.above) {
    if (above->isRunnable()) {
      // A tenant with several devices may wait long for the other devices.
      if (above->allowed && (above->turn == RunState::kRunning || !above->wide())) return true;
    } else if (!agenda_->reached(above->idle_since + above->gap.threshold())) {
      return true;
    }
  }
  return false;
}

// Rivals contend if they want to run, or paused so briefly that they soon will.
bool QuantumScheduler::contended(const Tenant& tenant) const {
  const Nanos brief = group_.constants().quantum;
  return std::any_of(tenant.rivals.begin(), tenant.rivals.end(), [&](const Tenant* rival) {
    if (rival->throttled) return false;
    return rival->isRunnable() || !agenda_->reached(rival->idle_since + brief);
  });
}

// An idle holder keeps its turn for a moment if it usually returns soon and did not have more than
// the other tenant.
bool QuantumScheduler::isExpectedBack(const Tenant& holder, const Tenant& other) const {
  const Nanos quantum = group_.constants().quantum;
  if (holder.usual_pause > quantum / 10) return false;
  if (holder.v > other.projected() || agenda_->reached(holder.quantum_end)) return false;
  return !agenda_->reached(holder.idle_since + 2 * holder.usual_pause);
}

// Work of the tenant that does not end may depend on work that waits at the gate. While that runs,
// the tenant pays as others do and would never be behind them. So it gets an extra turn in each
// drain bound.
bool QuantumScheduler::isStarved(const Tenant& tenant) const {
  return tenant.unpreemptible && tenant.reported.waiting && tenant.turn != RunState::kRunning &&
         agenda_->reached(tenant.stopped_at + group_.constants().drain_bound);
}

// Returns true if the tenant has wanted to run since its last turn; a longer turn of another tenant
// makes little difference to it.
bool QuantumScheduler::steady(const Tenant& tenant) const {
  return tenant.isRunnable() && !tenant.throttled &&
         tenant.idle_since + group_.constants().idle <= tenant.granted_at;
}

// Each hand-over costs the device a drain and the node two wake-ups. So many tenants that always
// want to run get longer turns.
Nanos QuantumScheduler::lengthFor(const Tenant& tenant) const {
  const Nanos quantum = group_.constants().quantum;
  if (tenant.wide() || tenant.has_below || !tenant.above.empty()) return quantum;
  Nanos others = 0;
  for (const Tenant* rival : tenant.rivals) {
    if (rival->wide()) return quantum;
    if (steady(*rival)) ++others;
  }
  return quantum * std::clamp<Nanos>(others / 2, 1, kMaxQuanta);
}

// The end of the holder's turn for this tenant: a tenant that has just returned does not wait for
// the longer turns.
Nanos QuantumScheduler::endFor(const Tenant& holder, const Tenant& other) const {
  if (steady(other)) return holder.quantum_end;
  return std::min(holder.quantum_end, holder.granted_at + group_.constants().quantum);
}

// Returns true if the holder hands over to a tenant of its class that it preceded.
bool QuantumScheduler::yields(const Tenant& holder, const Tenant& to) const {
  if (!holder.isRunnable()) return !isExpectedBack(holder, to);
  // It has its turn because the other tenant paused, which is owed more than a pause can earn.
  const double lag = 1.25 * static_cast<double>(group_.constants().quantum);
  if (!holder.boosted && holder.granted_v - to.projected() > virtualOf(lag, to.weight)) return true;
  if (!agenda_->reached(endFor(holder, to))) return false;
  if (isStarved(to)) return true;
  const Virtual ahead = to.projected() - holder.projected();
  if (ahead < 0) return true;
  // Checked again when it has used as much. Without work in flight it uses nothing until it
  // reports.
  if (holder.present())
    agenda_->reached(agenda_->now() + holder.timeToUse(usedFor(ahead + 1, holder.weight)));
  return false;
}

bool QuantumScheduler::finishDraining() {
  bool changed = false;
  const Nanos bound = group_.constants().drain_bound;
  for (const auto& tenant : group_.tenants()) {
    if (tenant->unpreemptible && !tenant->isRunnable() &&
        agenda_->reached(tenant->idle_since + bound)) {
      tenant->unpreemptible = false;
    }
    if (tenant->turn != RunState::kDraining) continue;
    if (tenant->drained(agenda_)) {
      tenant->turn = RunState::kIdle;
      tenant->left_at = agenda_->now();
      noteDrain(tenant.get());
      // Work that ends so soon that it counts as drained.
      tenant->meter.grant(static_cast<double>(tenant->last_order.overlap));
      if (agenda_->now() - tenant->stopped_at < bound) tenant->unpreemptible = false;
      changed = true;
    } else if (!tenant->unpreemptible && agenda_->reached(tenant->stopped_at + bound)) {
      tenant->unpreemptible = true;
      changed = true;
    }
  }
  return changed;
}

// Updates the drain times for tenants of higher classes that returned while it ran.
void QuantumScheduler::noteDrain(Tenant* left) {
  const Nanos now = agenda_->now();
  // Work that counts as drained may end a moment later.
  const Nanos end = std::clamp(left->reported.inflight_until, now, now + left->last_order.overlap);
  const Nanos took = end - left->stopped_at;
  bool awaited = false;
  for (Tenant* above : left->above) {
    if (!above->isRunnable()) continue;
    above->gap.delayed(took);
    awaited = true;
  }
  if (awaited) left->usual_drain += (static_cast<double>(took) - left->usual_drain) / 32;
}

bool QuantumScheduler::stopForbidden() {
  bool changed = false;
  for (PriorityClass cls :
       {PriorityClass::kLatency, PriorityClass::kNormal, PriorityClass::kBestEffort}) {
    for (const auto& tenant : group_.tenants()) {
      if (!tenant->active() || tenant->solo || tenant->terms.cls != cls) continue;
      const bool running = tenant->turn == RunState::kRunning;
      const bool asks = tenant->isRunnable() || tenant->first();
      tenant->allowed = (asks || running) && !tenant->throttled &&
                        (!blocked(*tenant) ||
                         (tenant->isRunnable() && group_.starvation_reserve(*tenant, agenda_)));
      if (!running || tenant->allowed) continue;
      stop(tenant.get());
      changed = true;
    }
  }
  return changed;
}

bool QuantumScheduler::serve() {
  line_.clear();
  promises_.clear();
  taken_.fill(0);
  for (const auto& tenant : group_.tenants()) {
    if (!tenant->active() || tenant->solo || tenant->turn == RunState::kRunning) continue;
    if (!tenant->allowed || !(tenant->isRunnable() || tenant->first())) continue;
    // A tenant that is being stopped comes after the tenants that it is stopped for.
    line_.push_back({{tenant->terms.cls, tenant->blocks(), !isStarved(*tenant), tenant->projected(),
                      tenant->key},
                     tenant.get()});
  }
  std::sort(line_.begin(), line_.end(),
            [](const QueuedTenant& a, const QueuedTenant& b) { return a.rank < b.rank; });
  bool changed = false;
  for (const QueuedTenant& place : line_) changed |= claim(place.tenant);
  return changed;
}

bool QuantumScheduler::claim(Tenant* tenant) {
  std::uint32_t& taken = taken_[static_cast<unsigned>(tenant->terms.cls)];
  if (taken & tenant->terms.devices) return false;
  const Nanos now = agenda_->now();
  const Nanos quantum = group_.constants().quantum;
  const Nanos promised = promisedUntil(*tenant);
  if (promised - now < quantum / 10) return false;
  // Then it is too late for this tenant, and others may run.
  if (promised < now + quantum) agenda_->reached(promised - quantum / 10 + 1);

  bool next = true;
  Nanos held_until = now;
  for (const Tenant* rival : tenant->rivals) {
    if (rival->turn != RunState::kRunning || yields(*rival, *tenant)) continue;
    held_until = std::max(held_until, endFor(*rival, *tenant));
    next = next && tenant->projected() < rival->projected();
  }
  if (held_until > now || !next) {
    // It is first in line while other tenants have their turns; no tenant may start a turn that
    // ends later.
    if (next && tenant->wide()) promises_.push_back({tenant, held_until});
    return false;
  }
  taken |= tenant->terms.devices;
  bool stopped = false;
  bool leaving = false;
  for (Tenant* rival : tenant->rivals) {
    if (rival->turn == RunState::kRunning) {
      stop(rival);
      stopped = true;
    }
    leaving = leaving || rival->blocks();
  }
  if (leaving || stopped) return stopped;
  run(tenant, std::min(now + lengthFor(*tenant), promised));
  return true;
}

Nanos QuantumScheduler::promisedUntil(const Tenant& tenant) const {
  Nanos until = kNever;
  for (const SlotPromise& promise : promises_)
    if (promise.to->terms.cls == tenant.terms.cls && promise.to->overlaps(tenant))
      until = std::min(until, promise.until);
  return until;
}

void QuantumScheduler::run(Tenant* tenant, Nanos until) {
  tenant->boosted = isStarved(*tenant);
  tenant->turn = RunState::kRunning;
  tenant->granted_at = agenda_->now();
  tenant->quantum_end = until;
  tenant->granted_v = tenant->projected();
  tenant->alone = !contended(*tenant);
  ++tenant->stats.grants;
  for (Tenant* rival : tenant->rivals) {
    if (rival->turn != RunState::kDraining || rival->left_behind) continue;
    rival->left_behind = true;
    ++rival->stats.undrained;
  }
  if (tenant->wide()) group_.forgive(*tenant);
}

void QuantumScheduler::stop(Tenant* tenant) {
  tenant->turn = RunState::kDraining;
  tenant->stopped_at = agenda_->now();
  tenant->left_behind = false;
  if (tenant->last_order.gate != Gate::kHold) tenant->hold_seq = 0;
}

void QuantumScheduler::noteAlone() {
  for (const auto& tenant : group_.tenants()) {
    if (!tenant->active() || tenant->turn != RunState::kRunning) continue;
    if (contended(*tenant)) {
      tenant->alone = false;
    } else if (!tenant->alone) {
      // Not before the end of the quantum, because some tenants come and go quickly.
      tenant->alone = agenda_->reached(tenant->quantum_end);
    }
  }
}

}  // namespace divvy::arbiter
