#include "tenant_channel.h"

#include <algorithm>
#include <optional>

namespace divvy::arbiter {
namespace {

using ledger::GateState;
using ledger::GrantMode;

static_assert(static_cast<int>(Mode::kSolo) == static_cast<int>(GrantMode::kSolo) &&
              static_cast<int>(Mode::kShare) == static_cast<int>(GrantMode::kShare) &&
              static_cast<int>(Mode::kCap) == static_cast<int>(GrantMode::kCap) &&
              static_cast<int>(Mode::kLatency) == static_cast<int>(GrantMode::kLatency) &&
              static_cast<int>(Mode::kBestEffort) == static_cast<int>(GrantMode::kBestEffort));
static_assert(static_cast<int>(Gate::kOpen) == static_cast<int>(GateState::kOpen) &&
              static_cast<int>(Gate::kRun) == static_cast<int>(GateState::kRun) &&
              static_cast<int>(Gate::kHold) == static_cast<int>(GateState::kHold));

// A reported end of work is not accepted beyond this time.
constexpr Nanos kFarthest = 60 * kSecond;
// A process may be read a moment after its first work began.
constexpr Nanos kSlack = 10 * kMillisecond;
std::uint32_t inMicros(Nanos duration) {
  return static_cast<std::uint32_t>(std::clamp<Nanos>(duration / kMicrosecond, 0, UINT32_MAX));
}

// Growth of a counter that may be forged.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

// Returns true if the process has done something since.
bool stirred(const ledger::WorkSample& before, const ledger::WorkSample& now) {
  return now.state != before.state || now.changed != before.changed ||
         now.seen_seq != before.seen_seq || now.drained_seq != before.drained_seq ||
         now.launches != before.launches || now.waits != before.waits;
}

}  // namespace

TenantChannel::TenantChannel(std::string id, ledger::GrantPages pages, const Entitlement& wanted,
                             std::vector<unsigned> devices, const Settings& settings)
    : patience(settings.constants.quantum / 5),
      terms(wanted),
      pages_(std::move(pages)),
      settings_(settings),
      id_(std::move(id)),
      devices_(std::move(devices)),
      credibility_(settings.constants),
      stats_(std::min<std::size_t>(devices_.size(), pages_.devices())) {
  devices_.resize(std::min<std::size_t>(devices_.size(), pages_.devices()));
}

void TenantChannel::addProcess(unsigned slot, std::uint64_t generation) {
  processes_.try_emplace({slot, generation});
  if (residency != nullptr) residency->addProcess(slot, generation);
}

void TenantChannel::removeProcess(unsigned slot, std::uint64_t generation) {
  processes_.erase({slot, generation});
  if (residency != nullptr) residency->removeProcess(slot, generation);
}

void TenantChannel::haltProcess(unsigned slot, std::uint64_t generation) {
  const auto found = processes_.find({slot, generation});
  if (found == processes_.end() || !found->second.known || found->second.halted) return;
  found->second.halted = true;
  found->second.halted_at = hot_.observed_at;
}

Nanos TenantChannel::untilOf(const ledger::WorkSample& sample, Nanos now) {
  const auto farthest = static_cast<std::uint64_t>(now + kFarthest);
  return static_cast<Nanos>(std::min(sample.inflight_until, farthest));
}

void TenantChannel::enableSwap(ledger::ResidencyPages pages) {
  residency =
      std::make_unique<TenantResidency>(std::move(pages), static_cast<unsigned>(devices_.size()));
  for (const auto& [name, process] : processes_) residency->addProcess(name.first, name.second);
  terms.never_open = true;
}

void TenantChannel::absorb(Process& process, const ledger::WorkSample& sample, Nanos now) {
  if (!process.known || stirred(process.last, sample)) {
    process.granted_run = grantedRun(now);
    process.halted = false;
  }
  if (!process.known) {
    // Earlier work counts for the arbiter of that time.
    process.known = true;
    process.since = now;
    process.last = sample;
    return;
  }
  const ledger::WorkSample& last = process.last;
  const Nanos most = now - process.since + kSlack;
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    const auto delta = static_cast<Nanos>(
        std::min<std::uint64_t>(grown(last.busy[device], sample.busy[device]), INT64_MAX));
    const Nanos credit = std::min(delta, most - process.credited[device]);
    process.credited[device] += credit;
    sums_.busy[device] += credit;
  }
  sums_.launches += grown(last.launches, sample.launches);
  sums_.settles += grown(last.settles, sample.settles);
  sums_.waits += grown(last.waits, sample.waits);
  sums_.escapes += grown(last.escapes, sample.escapes);
  sums_.cpu += static_cast<Nanos>(std::min<std::uint64_t>(grown(last.cpu, sample.cpu), kFarthest));
  sums_.longest = std::max(sums_.longest,
                           static_cast<Nanos>(std::min<std::uint64_t>(sample.longest, INT64_MAX)));
  process.last = sample;
}

void TenantChannel::join() {
  issued = false;
  hot_.observed_at = 0;
  past_busy_ = sums_.busy;
}

void TenantChannel::excuseMissing(Nanos now) {
  credibility_.excuse({sums_.settles, sums_.launches}, now);
  hot_.granted_at = now;
  for (auto& [slot, process] : processes_) process.granted_run = grantedRun(now);
}

// Uses the instants that the processes report; they may report none.
void TenantChannel::noteTurn(const Report& report, const WorkTimes& turns, Nanos now) {
  const Nanos before = std::min(std::max(hot_.observed_at, hot_.granted_at), now);
  const bool began = report.in_flight && !hot_.in_flight;
  const bool ended = hot_.in_flight && !report.in_flight;
  hot_.reports_times = turns.reported;
  hot_.passed = turns.reported && turns.moved && memory.resident && hot_.gate == Gate::kRun &&
                hot_.waiting && !hot_.in_flight && !report.in_flight;
  turned_at_ = now;
  if (!turns.reported) return;
  if (began) turned_at_ = std::clamp(turns.began, before, now);
  if (ended || hot_.passed) turned_at_ = std::clamp(turns.ended, before, now);
}

Report TenantChannel::observe(Nanos now) {
  Report report;
  WorkTimes turns;
  const std::uint64_t launches = sums_.launches;
  const std::uint64_t seq = pages_.seq();
  report.drained = seq;
  for (auto& [slot, process] : processes_) {
    ledger::WorkSample sample;
    if (!pages_.read(slot.first, slot.second, &sample)) continue;
    absorb(process, sample, now);
    const bool in_flight = worksOn(process, now);
    const bool waiting = waits(process, now);
    turns.add(sample, in_flight);
    report.waiting = report.waiting || waiting;
    if (residency != nullptr)
      residency->noteWork(slot.first, slot.second, waiting || in_flight, sample.last_launch);
    report.in_flight = report.in_flight || in_flight;
    // A process that only waits has launched nothing that could still run, whether it proved that
    // or not.
    if (!in_flight) continue;
    report.drained = std::min(report.drained, sample.drained_seq);
    report.inflight_until = std::max(report.inflight_until, untilOf(sample, now));
  }
  for (std::size_t device = 0; device < places.size(); ++device)
    report.busy[places[device]] = sums_.busy[device] - past_busy_[device];
  turns.moved = sums_.launches != launches;
  noteTurn(report, turns, now);
  hot_.observed_at = now;
  const bool was_quiet = quiet();
  hot_.in_flight = report.in_flight;
  hot_.waiting = report.waiting;
  if (!was_quiet) hot_.quiet_since = now;
  credibility_.assess(report, {sums_.settles, sums_.launches},
                      hot_.gate == Gate::kRun ? std::optional(hot_.granted_at) : std::nullopt, now);
  report.credible = credibility_.credible() && !distrusted;
  // A tenant without its memory cannot use a turn, but work that it launched before must still end.
  if (!memory.resident) {
    report.waiting = false;
    report.in_flight = report.in_flight && report.drained < seq;
  }
  return report;
}

std::uint64_t TenantChannel::apply(const Order& order, Nanos now) {
  ledger::GrantOptions grant;
  grant.mode = static_cast<GrantMode>(order.mode);
  grant.inflight_us = inMicros(order.inflight);
  grant.quantum_us = inMicros(order.quantum);
  grant.idle_us = inMicros(settings_.constants.idle);
  grant.overlap_us = inMicros(order.overlap);
  grant.beat_ms = settings_.beat_ms;
  grant.lease_ms = settings_.lease_ms;
  grant.escape_ms = settings_.escape_ms;
  grant.spin_us = settings_.spin_us;
  grant.card_permille = settings_.card_permille;
  grant.weight = order.weight;
  // If its memory is swapped, the arbiter waits until its work has ended.
  grant.reads_turned = residency == nullptr;
  issued = true;
  if (order.gate == Gate::kRun && hot_.gate != Gate::kRun) {
    credibility_.beginGrant();
    hot_.granted_at = now;
  }
  if (order.gate != Gate::kRun && hot_.gate == Gate::kRun) {
    const Nanos granted_for = now - hot_.granted_at;
    granted_run_ += granted_for;
    credibility_.endGrant(granted_for, now);
  }
  if (order.gate != hot_.gate) hot_.quiet_since = now;
  hot_.gate = order.gate;
  mode_ = order.mode;
  weight_ = order.weight;
  return pages_.write(static_cast<GateState>(order.gate), grant);
}

void TenantChannel::sample(const GroupStats& policy, Nanos now) {
  stats_.sample(policy, places, sums_.cpu, now);
}

TenantStats TenantChannel::stats(const GroupStats& policy) const {
  TenantStats stats = stats_.stats(policy);
  // A tenant without processes takes no part in the policy.
  const bool active = !processes_.empty();
  stats.mode = active ? policy.mode : Mode::kSolo;
  stats.gate = policy.gate;
  stats.weight = active ? policy.weight : 0;
  stats.unpreemptible = policy.unpreemptible;
  stats.distrusted = distrusted || !credibility_.credible();
  stats.waits = sums_.waits;
  stats.escapes = sums_.escapes;
  stats.longest = sums_.longest;
  stats.cpu = sums_.cpu;
  return stats;
}

void TenantChannel::carry(const GroupStats& policy) {
  stats_.carry(policy, places);
}

}  // namespace divvy::arbiter
