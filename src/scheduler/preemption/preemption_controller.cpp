#include "preemption/preemption_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "events/pod_events.h"
#include "events/requeue_patch.h"
#include "kube/eviction.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// The interval of checks for work that is due and causes no event.
constexpr std::chrono::milliseconds kLook{100};
// Looked at in one go, while other requests wait; a node may take as long as one decision.
constexpr std::chrono::milliseconds kAtOnce{5};
// For one pod over all nodes: about a second of the processor.
constexpr std::uint64_t kMaxTries = 50 * engine::kTriesOfDecision;
// Beside the time that victims have to end in: for kube-scheduler to come to it and bind.
constexpr std::int64_t kBindMs = 120'000;
constexpr std::int64_t kFirstCallMs = 1'000;
constexpr unsigned kMaxDoublings = 5;
// Evictions for gated pods before other pods have their turn.
constexpr unsigned kStepsAtOnce = 8;
constexpr std::size_t kNamed = 5;  // victims in an Event

std::string nameOf(const std::string& namespace_name, const std::string& name) {
  return namespace_name + '/' + name;
}

}  // namespace

PreemptionController::PreemptionController(asio::any_io_executor executor, kube::Client& client,
                                           SchedulerCache& cache, PreemptionCounts& counts,
                                           Options options)
    : executor_(executor),
      client_(client),
      cache_(cache),
      counts_(counts),
      options_(std::move(options)),
      watches_(executor, client, options_.stopped),
      pause_(executor) {}

void PreemptionController::start() {
  kube::EventHandlers budgets;
  budgets.path = "/apis/policy/v1/poddisruptionbudgets";
  budgets.set = [this](const json::value& object) {
    Result<kube::DisruptionBudget> budget = kube::budgetOf(object);
    if (budget) budgets_.set(std::move(*budget));
    // The API server follows it all the same.
    if (!budget)
      log::warn("cannot read a disruption budget", {{"error", budget.error().message()}});
  };
  budgets.gone = [this](const std::string& uid, const std::string&) { budgets_.remove(uid); };
  budgets.synced = [] {};
  budgets.trouble = logWatchTrouble("poddisruptionbudgets");
  watches_.follow("disruption budgets", std::move(budgets));
  asio::co_spawn(executor_, run(), rethrow);
}

void PreemptionController::onPodUpdate(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  const Result<void> set = running_pods_.set(pod);
  if (!set && options_.unreadable) options_.unreadable(set.error());
  const auto attempt = attempts_.find(uid);
  if (!pod.node.empty() || pod.ended() || pod.meta.deleting) {
    if (attempt != attempts_.end() && pod.node == attempt->second.plan.node) ++counts_.bound;
    end(uid);
  } else if (attempt != attempts_.end()) {
    attempt->second.pod = pod;
  }
  if (!attempts_.empty()) wake();
}

void PreemptionController::onPodDelete(const std::string& uid) {
  running_pods_.remove(uid);
  end(uid);
  if (!attempts_.empty()) wake();
}

void PreemptionController::refused(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  if (pod.preempts && running_pods_.anyBelow(pod.priority)) backoff_.refused(pod, nodes, now());
}

void PreemptionController::offered(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  if (pod.preempts && running_pods_.anyBelow(pod.priority)) backoff_.offered(pod, nodes, now());
}

void PreemptionController::forget() {
  backoff_.clear();
  for (const auto& [uid, attempt] : attempts_) cache_.denominate(uid);
  attempts_.clear();
  if (gated_preemption_ != nullptr) gated_preemption_->forget();
}

void PreemptionController::end(const std::string& uid) {
  backoff_.drop(uid);
  if (attempts_.erase(uid) > 0) cache_.denominate(uid);
}

bool PreemptionController::waitsStill(const std::string& uid) const {
  return backoff_.has(uid) && options_.why_not().empty();
}

PreemptionOptions PreemptionController::options() const {
  constexpr std::int64_t kNano = 1'000'000'000;
  return {cache_.pods().config(), cache_.nodes().pools(), options_.min_runtime,
          wallNanoseconds() / kNano};
}

Result<std::optional<PreemptorPod>> PreemptionController::claimantOf(const kube::Pod& pod) const {
  Result<std::optional<engine::Request>> request = cache_.pods().readRequest(pod);
  if (!request) return request.error();
  if (!*request) return std::optional<PreemptorPod>();
  const Result<PodResources> resources = podResources(pod);
  if (!resources) return resources.error();
  return std::optional(PreemptorPod{pod.meta.uid, pod.priority, *resources, std::move(**request)});
}

asio::awaitable<void> PreemptionController::run() {
  while (!*options_.stopped) {
    pause_.expires_after(kLook);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    counts_.under_way =
        attempts_.size() + (gated_preemption_ == nullptr ? 0 : gated_preemption_->underWay());
    if (!options_.why_not().empty()) {
      forget();
      continue;
    }
    if (!watches_.known()) continue;
    co_await advance();
    for (const kube::Meta& one : backoff_.stale(now())) {
      const PodRef asked{one.namespace_name, one.name};
      co_await send(requeuePatch(asked));
    }
    if (std::optional<PreemptionCandidate> contender = backoff_.next(now()))
      co_await attempt(std::move(*contender));
    if (gated_preemption_ != nullptr) co_await clear();
  }
}

// Pods that fit by now are requeued; those that did not fit in time lose their nomination.
asio::awaitable<void> PreemptionController::advance() {
  std::vector<std::string> uids;
  for (const auto& [uid, attempt] : attempts_) uids.push_back(uid);
  for (const std::string& uid : uids) {
    const auto at = attempts_.find(uid);
    if (at == attempts_.end()) continue;
    Attempt& attempt = at->second;
    if (attempt.until <= now()) {
      ++counts_.expired;
      log::warn("preemptor was not bound in time; the devices of its victims are free for all pods",
                {{"pod", nameOf(attempt.pod.meta.namespace_name, attempt.pod.meta.name)},
                 {"node", attempt.plan.node}});
      attempts_.erase(at);
      cache_.denominate(uid);
      continue;
    }
    if (attempt.next_call > now()) continue;
    const std::optional<NodeSnapshot> snapshotOf = cache_.nodes().snapshotOf(attempt.plan.node);
    if (!snapshotOf) {
      attempt.failed = true;
      continue;
    }
    const Result<bool> fits = fitsNow(*snapshotOf, attempt.preemptor, running_pods_, options());
    if (fits && *fits) {
      attempt.next_call = {now().ms + (kFirstCallMs << std::min(attempt.calls, kMaxDoublings))};
      ++attempt.calls;
      co_await call(attempt);
      continue;
    }
    // No victim is left: other pods took the capacity.
    const std::vector<const RunningPod*> there = running_pods_.on(attempt.plan.node);
    const bool terminating = std::any_of(there.begin(), there.end(),
                                         [](const RunningPod* one) { return one->terminating; });
    if (!terminating && !attempt.failed) {
      attempt.failed = true;
      ++counts_.broken;
      backoff_.failed(uid, now());
    }
  }
}

asio::awaitable<void> PreemptionController::call(Attempt attempt) {
  const kube::Meta& meta = attempt.pod.meta;
  if (attempt.pod.nominated != attempt.plan.node)
    co_await send(nominateCall(meta.namespace_name, meta.name, meta.uid, attempt.plan.node));
  const PodRef waiting{meta.namespace_name, meta.name};
  co_await send(requeuePatch(waiting));
}

asio::awaitable<void> PreemptionController::send(kube::Call call) {
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> told = co_await client_.ask(std::move(call));
  if (!told && told.error().code() != ErrorCode::kNotFound)
    log::warn("cannot write what preemption decided", {{"error", told.error().message()}});
}

std::optional<PreemptionPlan> PreemptionController::planAt(const std::string& node,
                                                           const PreemptorPod& preemptor,
                                                           IneligibleCounts* ineligible) const {
  const std::optional<NodeSnapshot> snapshotOf = cache_.nodes().snapshotOf(node);
  if (!snapshotOf) return std::nullopt;
  Result<std::optional<PreemptionPlan>> plan =
      selectVictims(*snapshotOf, preemptor, running_pods_, budgets_, options(), ineligible);
  if (!plan)
    log::warn("cannot select victims", {{"node", node}, {"error", plan.error().message()}});
  return plan ? std::move(*plan) : std::nullopt;
}

// The cheapest of all nodes; of equals the first by name.
asio::awaitable<std::optional<PreemptionPlan>> PreemptionController::choosePlan(
    const PreemptionCandidate& contender, const PreemptorPod& preemptor,
    IneligibleCounts* ineligible) {
  std::optional<PreemptionPlan> best;
  std::size_t looked_at = 0;
  auto since = std::chrono::steady_clock::now();
  for (const std::string& node : contender.nodes) {
    if (ineligible->tries >= kMaxTries) {
      ineligible->unsearched = contender.nodes.size() - looked_at;
      break;
    }
    std::optional<PreemptionPlan> plan = planAt(node, preemptor, ineligible);
    if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
    ++looked_at;
    if (std::chrono::steady_clock::now() - since < kAtOnce) continue;
    co_await asio::post(executor_, asio::use_awaitable);
    if (!waitsStill(preemptor.uid)) co_return std::nullopt;
    since = std::chrono::steady_clock::now();
  }
  if (!best) co_return best;
  // Others came and went meanwhile.
  IneligibleCounts again;
  co_return planAt(best->node, preemptor, &again);
}

asio::awaitable<void> PreemptionController::attempt(PreemptionCandidate contender) {
  const std::string uid = contender.pod.meta.uid;
  const auto known = attempts_.find(uid);
  if (known != attempts_.end() && !known->second.failed) {
    backoff_.rest(uid, known->second.until);
    co_return;
  }
  Result<std::optional<PreemptorPod>> preemptor = claimantOf(contender.pod);
  if (!preemptor || !*preemptor) {
    backoff_.drop(uid);
    co_return;
  }
  IneligibleCounts ineligible;
  std::optional<PreemptionPlan> plan = co_await choosePlan(contender, **preemptor, &ineligible);
  if (!waitsStill(uid)) co_return;
  backoff_.failed(uid, now());  // until it is bound
  if (ineligible.unsearched > 0) {
    ++counts_.cut;
    log::warn("victims were not searched on all nodes: containers have too many different shares",
              {{"pod", nameOf(contender.pod.meta.namespace_name, contender.pod.meta.name)},
               {"not_searched", std::to_string(ineligible.unsearched)},
               {"nodes", std::to_string(contender.nodes.size())}});
  }
  if (!plan) {
    ++counts_.none;
    co_return;
  }
  std::int64_t grace = 0;
  for (const std::string& victim : plan->victims)
    if (const RunningPod* one = running_pods_.find(victim)) grace = std::max(grace, one->grace);
  for (const RunningPod* one : running_pods_.on(plan->node))
    if (one->terminating) grace = std::max(grace, one->grace);
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Instant until{now().ms + grace * kMsPerSecond + kBindMs};
  const Result<void> claimed = cache_.nominate(contender.pod, plan->placement, until);
  if (!claimed) co_return;
  ++counts_.planned;
  attempts_.insert_or_assign(
      uid, Attempt{std::move(contender.pod), std::move(**preemptor), std::move(*plan), until});
  co_await carryOut(uid);
}

// One after the other: once the attempt fails, the remaining victims stay.
asio::awaitable<void> PreemptionController::carryOut(std::string uid) {
  const Attempt begun = attempts_.at(uid);
  const kube::Meta& meta = begun.pod.meta;
  const std::vector<std::string>& victims = begun.plan.victims;
  std::string who;
  for (std::size_t at = 0; at < victims.size() && at < kNamed; ++at)
    if (const RunningPod* one = running_pods_.find(victims[at]))
      who += (at == 0 ? "" : ", ") + nameOf(one->namespace_name, one->name);
  if (victims.size() > kNamed) who += " and others";
  const std::string what = victims.empty()
                               ? "waits for pods that are ending on " + begun.plan.node
                               : std::to_string(victims.size()) +
                                     (victims.size() == 1 ? " pod ends" : " pods end") +
                                     " for it (priority " + std::to_string(begun.pod.priority) +
                                     ") on " + begun.plan.node + ": " + who;
  log::info("preemption", {{"pod", nameOf(meta.namespace_name, meta.name)}, {"decision", what}});
  co_await send(nominateCall(meta.namespace_name, meta.name, meta.uid, begun.plan.node));
  for (const std::string& victim : victims) {
    // By a copy: it may be gone while we wait for answers.
    const RunningPod* there = running_pods_.find(victim);
    if (there == nullptr || there->terminating) continue;
    const RunningPod one = *there;
    if (!attempts_.contains(uid)) co_return;
    // A bound or deleted pod needs no more evictions.
    std::function<bool()> still = [this, uid] {
      return options_.why_not().empty() && attempts_.contains(uid);
    };
    std::string why = "evicted from " + one.node + " for pod " +
                      nameOf(meta.namespace_name, meta.name) + " (uid " + uid +
                      "): its priority is " + std::to_string(begun.pod.priority) + ", this one's " +
                      std::to_string(one.priority);
    const bool goes = co_await evict(one, std::move(still), "Preempted", std::move(why));
    if (goes) continue;
    const auto attempt = attempts_.find(uid);
    if (attempt == attempts_.end()) co_return;
    attempt->second.failed = true;
    ++counts_.broken;
    backoff_.failed(uid, now());
    co_return;
  }
  PodEvent note{meta.namespace_name, meta.name, meta.uid, "Preempting", what};
  co_await send(eventCall(note, options_.scheduler, wallNanoseconds()));
}

asio::awaitable<bool> PreemptionController::evict(RunningPod victim, std::function<bool()> still,
                                                  const char* reason, std::string why) {
  kube::EvictionOptions ask{victim.namespace_name, victim.name, victim.uid};
  ask.still = std::move(still);
  const Result<kube::Eviction> answer = co_await kube::evict(client_, std::move(ask));
  const std::string named = nameOf(victim.namespace_name, victim.name);
  if (!answer) {
    ++counts_.unanswered;
    log::warn("the API server did not answer an eviction",
              {{"pod", named}, {"error", answer.error().message()}});
    co_return false;
  }
  switch (answer->end) {
    case kube::EvictionOutcome::kGone:
      ++counts_.gone;
      running_pods_.markTerminating(victim.uid);
      co_return true;
    case kube::EvictionOutcome::kForbidden:
      ++counts_.forbidden;
      log::warn("eviction is forbidden", {{"pod", named}, {"reason", answer->why}});
      co_return false;
    case kube::EvictionOutcome::kRefused:
      ++counts_.refused;
      log::warn("eviction was refused", {{"pod", named}, {"reason", answer->why}});
      co_return false;
    case kube::EvictionOutcome::kEvicted:
      break;
  }
  ++counts_.evicted;
  running_pods_.markTerminating(victim.uid);
  PodEvent note{victim.namespace_name, victim.name, victim.uid, reason, std::move(why)};
  co_await send(eventCall(note, options_.scheduler, wallNanoseconds()));
  co_return true;
}

// Evicts the victims of gated preemption. A refused eviction ends its plan; earlier evictions of
// the plan are not undone.
asio::awaitable<void> PreemptionController::clear() {
  gated_preemption_->advance();
  for (unsigned steps = 0; steps < kStepsAtOnce; ++steps) {
    const std::optional<GatedPreemption::Eviction> eviction = gated_preemption_->next();
    if (!eviction) co_return;
    log::info("evicting for a gated pod",
              {{"pod", nameOf(eviction->victim.namespace_name, eviction->victim.name)},
               {"reason", eviction->why}});
    std::function<bool()> still = [this, eviction] {
      return ready() && gated_preemption_->stands(*eviction);
    };
    const bool goes =
        co_await evict(eviction->victim, std::move(still), eviction->reason, eviction->why);
    gated_preemption_->answered(*eviction, goes);
  }
}

}  // namespace divvy::scheduler
