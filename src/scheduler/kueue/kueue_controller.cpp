#include "kueue/kueue_controller.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "asio/rethrow.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTick{1};
// Devices are reserved for that time, and decided upon again before it ends.
constexpr std::int64_t kReservedMs = 120'000, kRenewMs = 100'000;
// From a conflict to the next decision; the unit of FitDecision::retry_s.
constexpr std::int64_t kSoonMs = 1'000;
// A write that the watch does not report counts as lost after that time.
constexpr std::int64_t kEchoMs = 10'000;
// Decisions take a tenth of the event loop's time at most.
constexpr int kPause = 10;

// No such kind, or no right to read it: the cluster does not use Kueue.
bool isAbsent(const Error& error) {
  return error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kIo;
}

}  // namespace

KueueController::KueueController(asio::any_io_executor executor, kube::Client& client,
                                 WorkloadFit fit, KueueCounts& counts, Options options)
    : executor_(std::move(executor)),
      client_(client),
      writer_(client, [this] { return mayAct(); }),
      fit_(std::move(fit)),
      counts_(counts),
      options_(std::move(options)) {}

void KueueController::start(const kube::Informer& pods) {
  pods_ = &pods;
  followChecks();
  asio::co_spawn(executor_, tick(), rethrow);
}

void KueueController::takeOver() {
  fit_.reservations().releaseAll();
  followed_.clear();
  turns_.clear();
  informers_.restores = true;
  informers_.checks.relist();
  if (informers_.follows_workloads) informers_.workloads.relist();
}

// ---- observed objects ---------------------------------------------------------------------------

void KueueController::followChecks() {
  kube::EventHandlers checks;
  checks.path = kube::kKueueChecksPath;
  checks.set = [this](const bj::value& object) {
    const Result<kube::KueueCheck> check = kube::kueueCheckOf(object);
    if (check) return onCheck(*check);
    ++counts_.unreadable;
    logUnreadable("admissioncheck", check.error());
  };
  checks.gone = [this](const std::string& uid, const std::string&) { checks_.erase(uid); };
  checks.synced = [] {};
  checks.trouble = [this](const Error& error) {
    if (!isAbsent(error)) return logWatchTrouble("admissionchecks")(error);
    if (!std::exchange(informers_.absence_logged, true))
      log::info("the cluster has no Kueue", {{"error", error.message()}});
  };
  asio::co_spawn(
      executor_,
      kube::runReflector(client_, std::move(checks), informers_.checks, options_.stopped), rethrow);
}

void KueueController::onCheck(const kube::KueueCheck& check) {
  if (check.controller != kFitController) return;
  const auto known = checks_.find(check.meta.uid);
  const bool changed =
      known == checks_.end() || known->second.object.parameters != check.parameters;
  checks_[check.meta.uid].object = check;
  if (!informers_.follows_workloads) {
    followWorkloads();
  } else if (changed) {
    informers_.workloads.relist();
  }
  activateChecks();
}

// Also those that were reported before this replica could write, and writes that failed.
void KueueController::activateChecks() {
  for (auto& [uid, check] : checks_) {
    const bool told = check.object.active == (check.object.parameters ? "False" : "True");
    if (told || check.next_write > now() || !mayAct()) continue;
    check.next_write = {now().ms + kEchoMs};
    asio::co_spawn(executor_, writer_.activate(check.object), rethrow);
  }
}

void KueueController::followWorkloads() {
  informers_.follows_workloads = true;
  informers_.queues.follow(executor_, client_, options_.stopped);
  kube::EventHandlers workloads;
  workloads.path = kube::kKueueWorkloadsPath;
  workloads.set = [this](const bj::value& object) {
    Result<kube::KueueWorkload> workload = kube::kueueWorkloadOf(object);
    if (workload) return onWorkload(std::move(*workload));
    ++counts_.unreadable;
    logUnreadable("workload", workload.error());
  };
  workloads.gone = [this](const std::string& uid, const std::string&) { drop(uid); };
  workloads.synced = [this] { informers_.restores = false; };
  workloads.trouble = logWatchTrouble("workloads");
  workloads.behind = pods_;
  asio::co_spawn(
      executor_,
      kube::runReflector(client_, std::move(workloads), informers_.workloads, options_.stopped),
      rethrow);
}

// The states of this controller's checks.
std::vector<const kube::KueueCheckState*> KueueController::statesOf(
    const kube::KueueWorkload& workload) const {
  std::vector<const kube::KueueCheckState*> states;
  for (const kube::KueueCheckState& state : workload.checks)
    if (std::any_of(checks_.begin(), checks_.end(), [&](const auto& check) {
          const kube::KueueCheck& object = check.second.object;
          return object.meta.name == state.name && !object.parameters;
        }))
      states.push_back(&state);
  return states;
}

void KueueController::onWorkload(kube::KueueWorkload workload) {
  const std::string uid = workload.meta.uid;
  const auto states = statesOf(workload);
  // An evicted workload has its quota for a moment more, and its checks are pending again.
  const bool has_quota = workload.quota_reserved && !workload.evicted && workload.active &&
                         !workload.finished && !workload.meta.deleting && !states.empty();
  if (!has_quota) return drop(uid);
  // If there are several checks, they have one state.
  const std::string state = states.front()->state;
  const bool ready = state == nameOf(FitState::kReady);
  if (workload.admitted) {
    const auto known = followed_.find(uid);
    const bool just_now = known != followed_.end() && !known->second.workload.admitted;
    if (!ready || (!informers_.restores && !just_now)) return;
    followed_[uid].workload = std::move(workload);
    return decideSoon(uid);
  }
  Followed& one = followed_[uid];
  one.workload = std::move(workload);
  if (one.written == state) one.written.clear();
  if (!one.written.empty()) return;
  if (ready && fit_.reservations().holds(uid)) {
    one.again = {one.reserved.ms + kRenewMs};
  } else if (ready || state == nameOf(FitState::kPending)) {
    if (one.again.ms == 0) decideSoon(uid);
  }
}

void KueueController::drop(const std::string& uid) {
  fit_.reservations().release(uid);
  const auto known = followed_.find(uid);
  if (known == followed_.end()) return;
  fit_.release(known->second.workload);
  followed_.erase(known);
}

// ---- decisions ----------------------------------------------------------------------------------

void KueueController::decideSoon(const std::string& uid) {
  Followed& one = followed_.at(uid);
  if (std::exchange(one.busy, true)) return;
  turns_.push(one.workload.meta.namespace_name, uid);
  if (!std::exchange(in_turns_, true)) asio::co_spawn(executor_, takeTurns(), rethrow);
}

void KueueController::decide(const std::string& uid) {
  const auto found = followed_.find(uid);
  if (found == followed_.end()) return;
  Followed& one = found->second;
  if (one.workload.admitted) {
    // From now on its reservations stay until its pods come.
    fit_.restore(one.workload, {now().ms + kReservedMs});
    followed_.erase(found);
    return;
  }
  const auto states = statesOf(one.workload);
  if (states.empty()) {
    one.busy = false;
    return;
  }
  one.reserved = now();
  FitDecision decision =
      fit_.decide(one.workload, states.front()->retries, {one.reserved.ms + kReservedMs});
  one.again = {};
  if (decision.state == FitState::kPending)
    one.again = {one.reserved.ms + decision.retry_s * kSoonMs};
  if (decision.state == FitState::kReady) one.again = {one.reserved.ms + kRenewMs};
  const bool known = std::all_of(states.begin(), states.end(), [&](const auto* state) {
    return state->state == nameOf(decision.state) && state->message == decision.message;
  });
  if (known) {
    one.busy = false;
    return;
  }
  std::vector<std::string> checks;
  for (const kube::KueueCheckState* state : states) checks.push_back(state->name);
  asio::co_spawn(executor_, write(one.workload, std::move(checks), std::move(decision)), rethrow);
}

asio::awaitable<void> KueueController::takeTurns() {
  asio::steady_timer pause(executor_);
  while (!turns_.empty() && mayAct()) {
    const auto begun = SteadyClock::now();
    decide(*turns_.pop());
    pause.expires_after(kPause * (SteadyClock::now() - begun));
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  in_turns_ = false;
}

asio::awaitable<void> KueueController::tick() {
  asio::steady_timer pause(executor_);
  while (!*options_.stopped) {
    pause.expires_after(kTick);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!mayAct()) continue;
    activateChecks();
    for (auto& [uid, one] : followed_) {
      if (one.again.ms == 0 || one.again > now()) continue;
      one.again = {};
      one.written.clear();
      decideSoon(uid);
    }
    if (!turns_.empty() && !std::exchange(in_turns_, true))
      asio::co_spawn(executor_, takeTurns(), rethrow);
  }
}

asio::awaitable<void> KueueController::write(kube::KueueWorkload workload,
                                             std::vector<std::string> checks,
                                             FitDecision decision) {
  const FitWrite wrote = co_await writer_.write(workload, checks, decision);
  if (wrote == FitWrite::kWritten) {
    counts_.ready += decision.state == FitState::kReady ? 1 : 0;
    counts_.retried += decision.state == FitState::kRetry ? 1 : 0;
    counts_.rejected += decision.state == FitState::kRejected ? 1 : 0;
  }
  const std::string& uid = workload.meta.uid;
  const auto found = followed_.find(uid);
  if (found == followed_.end()) co_return;
  Followed& one = found->second;
  one.busy = false;
  const std::int64_t at = now().ms;
  if (wrote == FitWrite::kWritten) {
    // The watch may have reported it before the reply came.
    const auto states = statesOf(one.workload);
    const bool observed = !states.empty() && states.front()->state == nameOf(decision.state);
    if (!observed) one.written = nameOf(decision.state);
    if (one.again.ms == 0) one.again = {at + kEchoMs};
    co_return;
  }
  one.again = {at + (wrote == FitWrite::kConflict ? kSoonMs : kEchoMs)};
  // The version that conflicts was observed while the decision was written.
  if (wrote == FitWrite::kConflict && one.workload.meta.version != workload.meta.version) {
    one.again = {};
    decideSoon(uid);
  }
}

}  // namespace divvy::scheduler
