#include "group_arbiter.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "clock.h"

namespace divvy::arbiter {
namespace {

constexpr Nanos kWindow = kSecond;
// Lower bound of a wait, so that a policy that always asks to be called does not use a core.
constexpr Nanos kShortestSleep = 10 * kMicrosecond;

// Signals are handled by the agent's main thread. Only signals that a thread causes itself stay
// enabled: a read of a truncated file must reach the ledger's guard.
class SignalsElsewhere {
 public:
  SignalsElsewhere() {
    sigset_t most;
    sigfillset(&most);
    for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&most, own);
    pthread_sigmask(SIG_SETMASK, &most, &before_);
  }
  ~SignalsElsewhere() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

GroupArbiter::GroupArbiter(const Settings& settings,
                           std::vector<std::shared_ptr<TenantChannel>> members,
                           const ResidencyBudgets& devices)
    : settings_(settings),
      policy_(settings.constants),
      residency_(settings.residency, devices),
      doorbell_(settings.wait_on_many) {
  const Nanos now = clockNow();
  for (std::shared_ptr<TenantChannel>& member : members) admit(std::move(member), now);
  const SignalsElsewhere guard;
  thread_ = std::thread([this] { run(); });
}

void GroupArbiter::add(std::shared_ptr<TenantChannel> member) {
  post([this, member = std::move(member)] { admit(member, clockNow()); });
}

void GroupArbiter::remove(const std::string& id) {
  post([this, id] {
    dropped_.erase(id);
    residency_.drop(id, clockNow());
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const auto& member) { return member->id() == id; });
    if (found == members_.end()) return;
    dismiss(**found, clockNow());
    members_.erase(found);
  });
}

void GroupArbiter::with(const std::string& id, std::function<void(TenantChannel&)> change) {
  post([this, id, change = std::move(change)] {
    for (const std::shared_ptr<TenantChannel>& member : members_) {
      if (member->id() != id) continue;
      const Nanos now = clockNow();
      change(*member);
      policy_.change(member->key, member->terms, now);
      policy_.setProcesses(member->key, member->processes(), now);
      residency_.change(*member, now);
      if (member->residency != nullptr) observe(member.get(), now);
    }
  });
}

void GroupArbiter::setDevice(unsigned device, const ResidencyBudget& terms) {
  post([this, device, terms] { residency_.setDevice(device, terms); });
}

std::vector<std::shared_ptr<TenantChannel>> GroupArbiter::stop() {
  if (!thread_.joinable()) return {};
  stopping_.store(true, std::memory_order_release);
  doorbell_.ring();
  thread_.join();
  runCommands();
  const Nanos now = clockNow();
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    member->carry(policy_.stats(member->key, now));
    member->handoff = policy_.handoff(member->key, now);
  }
  return std::move(members_);
}

std::map<std::string, TenantStats> GroupArbiter::stats() const {
  const std::lock_guard lock(shown_);
  return published_;
}

std::optional<TenantStats> GroupArbiter::stats(const std::string& id) const {
  const std::lock_guard lock(shown_);
  const auto found = published_.find(id);
  if (found == published_.end()) return std::nullopt;
  return found->second;
}

std::optional<ResidencyBudgetStats> GroupArbiter::device(unsigned device) const {
  const std::lock_guard lock(shown_);
  const auto found = published_devices_.find(device);
  if (found == published_devices_.end()) return std::nullopt;
  return found->second;
}

void GroupArbiter::post(Command command) {
  {
    const std::lock_guard lock(mailbox_);
    commands_.push_back(std::move(command));
  }
  doorbell_.ring();
}

void GroupArbiter::runCommands() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mailbox_);
    commands.swap(commands_);
  }
  for (const Command& command : commands) command();
  stale_ = stale_ || !commands.empty();
}

void GroupArbiter::admit(std::shared_ptr<TenantChannel> member, Nanos now) {
  std::uint32_t mask = 0;
  const std::vector<unsigned> before = std::exchange(member->places, {});
  for (const unsigned device : member->devices()) {
    auto place = std::find(devices_.begin(), devices_.end(), device);
    if (place == devices_.end()) place = devices_.insert(devices_.end(), device);
    const auto index = static_cast<unsigned>(place - devices_.begin());
    if (index >= kMaxGroupDevices) {
      dropped_[member->id()] = "its devices and those of its neighbours are more than " +
                               std::to_string(kMaxGroupDevices) + " in one group";
      member->release(now);
      return;
    }
    member->places.push_back(index);
    mask |= 1u << index;
  }
  member->terms.devices = mask;
  member->key = policy_.add(member->terms, now);
  policy_.setProcesses(member->key, member->processes(), now);
  residency_.add(*member, now);
  member->join();
  if (const auto handoff = std::exchange(member->handoff, nullptr)) {
    DeviceNumbers device_of{};
    for (std::size_t i = 0; i < before.size(); ++i) device_of[before[i]] = member->places[i];
    policy_.resume(member->key, *handoff, device_of, now);
    member->issued = true;  // by the policy of its previous group
  }
  members_.push_back(std::move(member));
}

void GroupArbiter::dismiss(TenantChannel& member, Nanos now) {
  member.carry(policy_.stats(member.key, now));
  policy_.remove(member.key, now);
  residency_.remove(member, now);
}

TenantChannel* GroupArbiter::find(TenantKey key) {
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    if (member->key == key) return member.get();
  }
  return nullptr;
}

void GroupArbiter::run() {
  pthread_setname_np(pthread_self(), "divvy-arbiter");
  prctl(PR_SET_TIMERSLACK, 1);
  for (;;) {
    doorbell_.listen();
    // Read after listen(): a stop() from here on ends the next wait.
    if (stopping_.load(std::memory_order_acquire)) break;
    runCommands();
    const Nanos now = clockNow();
    step(now);
    doorbell_.clear();
    for (const std::shared_ptr<TenantChannel>& member : members_)
      if (!member->quiet() && member->patience.listens(now))
        doorbell_.add(member->pages().bell(), member->bell);
    // A doorbell that is no longer mapped is found by bellValue() in the next step.
    static_cast<void>(doorbell_.wait(nextStep(now)));
  }
  cpu_.store(clockNow(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
}

// After an expired lease tenants ran ungated. The use since then does not show which tenant is
// ahead, and the last holder of a turn would pay for all of it.
void GroupArbiter::restart(Nanos now) {
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    member->observe(now);
    dismiss(*member, now);
    member->excuseMissing(now);
  }
  for (std::shared_ptr<TenantChannel>& member : std::exchange(members_, {})) {
    admit(std::move(member), now);
  }
}

void GroupArbiter::step(Nanos now) {
  wakeups_.fetch_add(1, std::memory_order_relaxed);
  const Nanos away = now - std::exchange(stepped_at_, now);
  if (next_beat_ != 0 && away > settings_.lease_ms * kMillisecond &&
      std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m->gated(); })) {
    restart(now);
  }
  observed_.clear();
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    if (member->isQuiescent(now)) continue;
    // Read before the lines: a change after them rings again.
    const std::uint32_t bell = member->pages().bellValue();
    const bool rang = bell != member->bell;
    member->bell = bell;
    if (rang && member->patience.listens(now)) member->patience.answered(now);
    if (member->processes() != 0 ? rang || member->mayDiffer(now) : member->residency != nullptr) {
      observed_.push_back({member.get(), member->observe(now)});
    }
  }
  report(now);
  dropBroken(now);
  arrange(now);
  issue(policy_.decide(now), now);
  releaseWithoutOrder(now);
  publishHeartbeat(now);
  if (now >= next_window_ - kWindow / 20) {
    next_window_ = now + kWindow;
    cpu_.store(clockNow(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    publish(now, true);
  } else if (stale_) {
    publish(now, false);
  }
}

// A tenant that began or ended work without a ring is reported with the instant of that change, in
// order. The use since then is divided among the tenants that worked at that time.
void GroupArbiter::report(Nanos now) {
  earlier_samples_.clear();
  for (const ObservedReport& observed : observed_) {
    const TenantChannel& member = *observed.member;
    if (member.passed()) earlier_samples_.push_back({member.grantedAt(), &observed, true});
    if (member.turnedAt() < now)
      earlier_samples_.push_back({member.turnedAt(), &observed, observed.report.in_flight});
  }
  const auto order = [](const PreviousSample& past) { return std::pair(past.at, !past.at_work); };
  std::sort(
      earlier_samples_.begin(), earlier_samples_.end(),
      [&order](const PreviousSample& a, const PreviousSample& b) { return order(a) < order(b); });
  for (const PreviousSample& past : earlier_samples_) {
    Report then = past.observed->report;
    then.in_flight = past.at_work;
    // The use that is known now includes later use.
    if (past.at_work) then.busy.fill(0);
    policy_.report(past.observed->member->key, then, past.at);
  }
  for (const ObservedReport& observed : observed_) {
    policy_.report(observed.member->key, observed.report, now);
    residency_.observe(observed.member, now);
  }
}

void GroupArbiter::observe(TenantChannel* member, Nanos now) {
  policy_.report(member->key, member->observe(now), now);
  residency_.observe(member, now);
}

// A tenant stops when its memory leaves, and may run again when it is back.
void GroupArbiter::arrange(Nanos now) {
  if (!residency_.arrange(members_, now)) return;
  stale_ = true;
  for (const std::shared_ptr<TenantChannel>& member : members_)
    if (member->processes() != 0) policy_.report(member->key, member->observe(now), now);
}

void GroupArbiter::issue(const std::vector<Order>& orders, Nanos now) {
  for (const Order& order : orders) {
    TenantChannel* member = find(order.tenant);
    if (member == nullptr) continue;
    stale_ = stale_ || member->changesStats(order);
    policy_.issued(order, member->apply(order, now));
    if (order.gate == Gate::kHold) member->patience.asked(now);
    // A tenant with nothing in flight has drained already, and does not ring.
    if (order.gate == Gate::kHold && !member->inFlight())
      policy_.report(member->key, member->observe(now), now);
  }
}

// An earlier agent or group may have left a tenant gated although the policy sees no reason.
void GroupArbiter::releaseWithoutOrder(Nanos now) {
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    if (member->issued) continue;
    member->issued = true;
    if (member->pages().state() != ledger::GateState::kOpen) member->release(now);
  }
}

void GroupArbiter::dropBroken(Nanos now) {
  const auto is_broken = [](const std::shared_ptr<TenantChannel>& member) {
    return member->pages().broken();
  };
  if (std::none_of(members_.begin(), members_.end(), is_broken)) return;
  const auto broken =
      std::stable_partition(members_.begin(), members_.end(), std::not_fn(is_broken));
  for (auto member = broken; member != members_.end(); ++member) {
    dropped_[(*member)->id()] = "its work file was truncated";
    (*member)->carry(policy_.stats((*member)->key, now));
    policy_.remove((*member)->key, now);
    residency_.retain(**member, now);
    (*member)->release(now);
    stale_ = true;
  }
  members_.erase(broken, members_.end());
}

void GroupArbiter::publishHeartbeat(Nanos now) {
  // No wake-up just for the heartbeat if the thread is awake shortly before it is due.
  if (now < next_beat_ - settings_.beat_ms * kMillisecond / 5) return;
  next_beat_ = now + settings_.beat_ms * kMillisecond;
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    if (member->gated()) member->pages().beat();
  }
}

void GroupArbiter::publish(Nanos now, bool new_window) {
  std::map<std::string, TenantStats> stats;
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    const GroupStats policy = policy_.stats(member->key, now);
    if (new_window) member->sample(policy, now);
    if (new_window) residency_.weigh(member.get(), policy.weight, now);
    TenantStats& shown = stats[member->id()] = member->stats(policy);
    shown.memory = residency_.stats(*member, now);
  }
  for (const auto& [id, why] : dropped_) stats[id].ungated = why;
  stale_ = false;
  const std::lock_guard lock(shown_);
  published_ = std::move(stats);
  published_devices_ = residency_.devices();
}

Nanos GroupArbiter::nextStep(Nanos now) const {
  if (members_.empty()) return kNever;
  Nanos next = std::min({policy_.nextWakeup(), residency_.nextWakeup(), next_window_});
  const bool any_gated =
      std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m->gated(); });
  if (any_gated) next = std::min(next, next_beat_);
  for (const std::shared_ptr<TenantChannel>& member : members_) {
    if (!member->quiet() && !member->patience.listens(now))
      next = std::min(next, member->patience.deafUntil());
    if (member->startSeenAt() > now) next = std::min(next, member->startSeenAt());
  }
  return std::max(next, now + kShortestSleep);
}

}  // namespace divvy::arbiter
