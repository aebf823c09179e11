#include "world.h"

#include <algorithm>

namespace divvy::arbiter::world {

World::World(const Settings& settings)
    : settings_(settings), policy_(settings.constants), random_(settings.seed) {
  for (unsigned i = 0; i < settings.cards; ++i)
    cards_.emplace_back(&timeline_, settings.slice, settings.switch_cost);
}

Nanos World::pick(const Spread& spread) {
  return spread.least +
         static_cast<Nanos>(random_() % static_cast<std::uint64_t>(spread.most - spread.least + 1));
}

unsigned World::add(const Entitlement& terms, Program process, const Habits& habits) {
  std::vector<Program> one;
  one.push_back(std::move(process));
  return add(terms, std::move(one), habits);
}

unsigned World::add(const Entitlement& terms, std::vector<Program> processes,
                    const Habits& habits) {
  auto member = std::make_unique<TenantChannel>();
  member->terms = terms;
  member->key = policy_.add(termsOf(*member), now());
  member->live = static_cast<unsigned>(processes.size());
  for (Program& program : processes)
    member->processes.push_back(std::make_unique<Process>(&timeline_, &cards_, settings_.constants,
                                                          habits, std::move(program), random_(),
                                                          [this] { ring(); }));
  policy_.setProcesses(member->key, member->live, now());
  members_.push_back(std::move(member));
  const std::size_t index = members_.size() - 1;
  ring();
  // The word is there before the first launch.
  timeline_.in(200 * kMicrosecond, [this, index] {
    for (auto& process : members_[index]->processes) process->start();
  });
  return static_cast<unsigned>(index);
}

void World::remove(unsigned tenant) {
  members_[tenant]->removed = true;
  for (auto& process : members_[tenant]->processes) process->kill();
  policy_.remove(members_[tenant]->key, now());
  ring();
}

Entitlement World::termsOf(const TenantChannel& member) const {
  Entitlement terms = member.terms;
  terms.devices = 0;
  for (unsigned card = 0; card < settings_.cards; ++card)
    if (member.terms.devices >> card & 1) terms.devices |= 1u << numberOf(card);
  return terms;
}

void World::replaceLaw(bool carry) {
  DeviceNumbers device_of{};
  for (unsigned i = 0; i < settings_.cards; ++i) device_of[i] = (i + 1) % settings_.cards;
  SchedulingPolicy next(settings_.constants);
  for (auto& member : members_) {
    if (member->removed) continue;
    policy_.report(member->key, reportOf(member.get()), now());
  }
  ++laws_;
  for (auto& member : members_) {
    if (member->removed) continue;
    const auto handoff = policy_.handoff(member->key, now());
    member->key = next.add(termsOf(*member), now());
    next.setProcesses(member->key, member->live, now());
    if (carry) next.resume(member->key, *handoff, device_of, now());
    for (unsigned card = 0; card < settings_.cards; ++card) {
      member->past[card] = 0;
      for (const auto& process : member->processes) member->past[card] += process->busy(card);
    }
  }
  policy_ = std::move(next);
  next_wake_ = kNever;
  ring();
}

void World::runUntil(Nanos instant) {
  timeline_.runUntil(instant);
}

void World::ring() {
  nextWakeup(now() + pick(settings_.bell));
}

void World::nextWakeup(Nanos instant) {
  if (!settings_.arbitrated || instant >= next_wake_) return;
  next_wake_ = instant;
  timeline_.at(instant, [this, instant] {
    if (next_wake_ != instant) return;
    next_wake_ = kNever;
    registerWithArbiter();
  });
}

Report World::reportOf(TenantChannel* member) {
  Report report;
  report.drained = UINT64_MAX;
  for (const auto& process : member->processes) {
    report.waiting |= process->waiting();
    report.in_flight |= process->inFlight();
    if (process->waiting() || process->inFlight())
      report.drained = std::min(report.drained, process->drained());
    report.inflight_until = std::max(report.inflight_until, process->inflightUntil());
    for (unsigned i = 0; i < cards_.size(); ++i) report.busy[numberOf(i)] += process->busy(i);
  }
  for (unsigned i = 0; i < cards_.size(); ++i) report.busy[numberOf(i)] -= member->past[i];
  if (report.drained == UINT64_MAX) report.drained = member->seq;
  if (member->gate == Gate::kRun) member->worked |= report.in_flight;
  Nanos busy = 0;
  for (unsigned i = 0; i < cards_.size(); ++i) busy += report.busy[i];
  if (busy != member->busy_at_grant) member->credible = true;
  report.credible = member->credible;
  return report;
}

void World::registerWithArbiter() {
  for (auto& member : members_) {
    if (member->removed) continue;
    const auto live =
        static_cast<unsigned>(std::count_if(member->processes.begin(), member->processes.end(),
                                            [](const auto& process) { return !process->ended(); }));
    if (live != member->live) policy_.setProcesses(member->key, member->live = live, now());
    policy_.report(member->key, reportOf(member.get()), now());
  }
  for (unsigned round = 0; policy_.nextWakeup() <= now() || round == 0; ++round) {
    if (round == 10) {
      fault_ = "the law does not come to rest";
      return;
    }
    for (const Order& order : policy_.decide(now())) tell(order);
  }
  if (settings_.ask_out_of_turn)
    askOutOfTurn(std::min(policy_.nextWakeup(), now() + 50 * kMillisecond));
  if (policy_.nextWakeup() != kNever) nextWakeup(policy_.nextWakeup());
}

// No report in between and its instant not come: whatever it had to say would have come late.
void World::askOutOfTurn(Nanos until) {
  if (until - now() < 2 || random_() % 16 != 0) return;
  const Nanos instant =
      now() + static_cast<Nanos>(random_() % static_cast<std::uint64_t>(until - now() - 1));
  timeline_.at(instant, [this, instant] {
    if (policy_.nextWakeup() <= instant || next_wake_ <= instant) return;
    const auto wake = policy_.nextWakeup();
    for (const Order& order : policy_.decide(instant))
      fault_ += "nobody was to be woken for: tenant " + std::to_string(order.tenant) + " gate " +
                std::to_string(static_cast<int>(order.gate)) + " in flight " +
                std::to_string(order.inflight) + " at " + std::to_string(instant) + " instead of " +
                std::to_string(wake) + "; ";
  });
}

void World::tell(const Order& order) {
  ++orders_;
  for (auto& owned : members_) {
    TenantChannel* member = owned.get();
    if (member->key != order.tenant) continue;
    const Report report = reportOf(member);
    Nanos busy = 0;
    for (const Nanos each : report.busy) busy += each;
    if (member->gate == Gate::kHold && order.gate == Gate::kRun) {
      // Not when it was told to hold: a long kernel was not over then.
      if (member->worked && busy == member->busy_at_grant) member->credible = false;
      member->busy_at_grant = busy;
      member->worked = false;
    }
    member->gate = order.gate;
    member->seq = ++seq_;
    policy_.issued(order, seq_);
    const Nanos way = pick(order.gate == Gate::kHold ? settings_.see : settings_.wake);
    member->heard_at = std::max(member->heard_at, now() + way);
    timeline_.at(member->heard_at, [member, order, seq = seq_] {
      for (auto& process : member->processes) process->told(order, seq);
    });
  }
}

Nanos World::got(unsigned tenant, unsigned device) {
  Nanos sum = 0;
  for (auto& process : members_[tenant]->processes) sum += process->got(device);
  return sum;
}

bool World::ended(unsigned tenant) const {
  const auto& processes = members_[tenant]->processes;
  return std::all_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process->ended(); });
}

bool World::idle(unsigned tenant) const {
  const auto& processes = members_[tenant]->processes;
  return std::all_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process->idle(); });
}

bool World::atTheGate(unsigned tenant) const {
  const auto& processes = members_[tenant]->processes;
  return std::any_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process->atTheGate(); });
}

GroupStats World::stats(unsigned tenant) {
  return policy_.stats(members_[tenant]->key, now());
}

}  // namespace divvy::arbiter::world
