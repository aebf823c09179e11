#include "preemption/gated_preemption.h"

#include <algorithm>
#include <utility>

namespace divvy::scheduler {
namespace {

// In progress at a time.
constexpr std::size_t kMaxAttempts = 32;
// Backoff entries.
constexpr std::size_t kMaxTries = 1024;
// No plan is made for this many times as long as the last one took: the thread has other work.
constexpr std::int64_t kRest = 9;
// For the pods to be bound once the victims' grace periods have ended.
constexpr std::int64_t kStartMs = 120'000;
constexpr std::int64_t kFirstPauseMs = 1'000;
constexpr unsigned kMaxDoublings = 6;

std::string countOf(std::size_t count, const char* one, const char* more) {
  return std::to_string(count) + (count == 1 ? one : more);
}

}  // namespace

GatedPreemption::GatedPreemption(SchedulerCache& cache, QueueTree& queues,
                                 const RunningPods& running_pods, const DisruptionBudgets& budgets,
                                 PreemptionCounts& counts, Options options)
    : cache_(cache),
      running_pods_(running_pods),
      counts_(counts),
      options_(std::move(options)),
      attempts_(cache),
      planner_({cache, queues, running_pods, budgets, attempts_, counts}) {}

PreemptionOptions GatedPreemption::planOptions() const {
  return {cache_.pods().config(), {}, options_.min_runtime, options_.calendar()};
}

GatedPreemptionCounts& GatedPreemption::countsOf(const EvictionAttempt& attempt) {
  return attempt.plan.options.below ? counts_.gated : counts_.reclaims;
}

std::optional<std::string> GatedPreemption::want(const PodSet& pod_set) {
  if (const EvictionAttempt* known = attempts_.find(pod_set.key)) {
    const bool same = known->pod_set.uids() == pod_set.uids();
    if (same && !isSpent(*known)) return known->text;
    breakOff(pod_set.key);
  }
  const engine::Instant began = options_.now();
  if (!options_.ready() || attempts_.size() >= kMaxAttempts || began < rest_until_)
    return std::nullopt;
  if (!mayTry(pod_set.key)) return std::nullopt;
  std::optional<GatedEvictionPlan> plan = planner_.plan(pod_set, planOptions());
  const engine::Instant ended = options_.now();
  rest_until_ = {ended.ms + (ended.ms - began.ms) * kRest};
  const EvictionAttempt* begun = plan ? begin(pod_set, std::move(*plan)) : nullptr;
  return begun == nullptr ? std::nullopt : std::optional(begun->text);
}

// All pods that make room are gone, and the gated pods did not start all the same.
bool GatedPreemption::isSpent(const EvictionAttempt& attempt) const {
  return !attempt.leaving.empty() &&
         std::none_of(attempt.leaving.begin(), attempt.leaving.end(),
                      [&](const std::string& uid) { return running_pods_.find(uid) != nullptr; });
}

bool GatedPreemption::mayTry(const std::string& key) {
  const engine::Instant now = options_.now();
  // The entry that is due first makes room.
  if (tries_.size() >= kMaxTries && !tries_.contains(key))
    tries_.erase(std::min_element(tries_.begin(), tries_.end(), [](const auto& a, const auto& b) {
      return a.second.next < b.second.next;
    }));
  BackoffEntry& one = tries_[key];
  if (one.next > now) return false;
  one.next = {now.ms + (kFirstPauseMs << std::min(one.count, kMaxDoublings))};
  ++one.count;
  return true;
}

// The victims, and pods that terminate on the plan's nodes. None of either: the quota is in the way
// and not devices, so all terminating pods count.
std::set<std::string> GatedPreemption::leavingFor(const GatedEvictionPlan& plan) const {
  std::set<std::string> leaving(plan.victims.begin(), plan.victims.end());
  for (const engine::Placement& place : plan.places)
    for (const RunningPod* one : running_pods_.on(place.node.text))
      if (one->terminating) leaving.insert(one->uid);
  if (leaving.empty())
    for (const std::string& uid : running_pods_.terminating()) leaving.insert(uid);
  return leaving;
}

const EvictionAttempt* GatedPreemption::begin(const PodSet& pod_set, GatedEvictionPlan plan) {
  std::set<std::string> leaving = leavingFor(plan);
  std::int64_t grace = 0;
  for (const std::string& uid : leaving)
    if (const RunningPod* one = running_pods_.find(uid)) grace = std::max(grace, one->grace);
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Instant until{options_.now().ms + grace * kMsPerSecond + kStartMs};
  std::string text =
      plan.victims.empty()
          ? "waits for terminating pods"
          : countOf(plan.victims.size(), " pod is evicted", " pods are evicted") + " for it";
  text += plan.options.below ? ": of lower priority"
                             : ": queue " + pod_set.queue + " reclaims its guarantee";
  std::vector<std::string> to_evict(plan.victims.rbegin(), plan.victims.rend());
  const EvictionAttempt* begun = attempts_.add({.pod_set = pod_set,
                                                .plan = std::move(plan),
                                                .leaving = std::move(leaving),
                                                .to_evict = std::move(to_evict),
                                                .until = until,
                                                .text = std::move(text)});
  if (begun != nullptr) ++countsOf(*begun).planned;
  return begun;
}

void GatedPreemption::breakOff(const std::string& key) {
  ++countsOf(attempts_.at(key)).broken;
  attempts_.remove(key);
}

void GatedPreemption::started(const std::string& key) {
  if (const EvictionAttempt* attempt = attempts_.find(key)) ++countsOf(*attempt).started;
  attempts_.remove(key);
  tries_.erase(key);
}

void GatedPreemption::drop(const std::string& uid) {
  tries_.erase(uid);
  for (const std::string& key : attempts_.keysOf(uid)) breakOff(key);
}

void GatedPreemption::forget() {
  attempts_.clear();
  tries_.clear();
}

void GatedPreemption::advance() {
  for (const std::string& key : attempts_.expired(options_.now())) {
    const EvictionAttempt& attempt = attempts_.at(key);
    ++countsOf(attempt).expired;
    attempts_.addStuck(attempt.leaving);
    attempts_.remove(key);
  }
  attempts_.pruneStuck(running_pods_);
}

std::string GatedPreemption::whyOf(const EvictionAttempt& attempt, const RunningPod& victim) const {
  const kube::Pod& first = attempt.pod_set.pods.front();
  const std::size_t count = attempt.pod_set.pods.size();
  const std::string named = first.meta.namespace_name + '/' + first.meta.name;
  std::string text = "evicted from " + victim.node + " for ";
  text += count == 1 ? "pod " + named : std::to_string(count) + " pods of a gang, such as " + named;
  if (!attempt.pod_set.queue.empty()) text += " of queue " + attempt.pod_set.queue;
  if (!attempt.plan.options.below) return text + ", which reclaims its guarantee";
  return text + ": its priority is " + std::to_string(*attempt.plan.options.below) +
         ", this one's " + std::to_string(victim.priority);
}

// Takes victims from the list until one still runs.
const RunningPod* GatedPreemption::nextVictim(EvictionAttempt* attempt) const {
  while (!attempt->to_evict.empty()) {
    const RunningPod* one = running_pods_.find(attempt->to_evict.back());
    attempt->to_evict.pop_back();
    if (one != nullptr && !one->terminating) return one;
  }
  return nullptr;
}

std::optional<GatedPreemption::Eviction> GatedPreemption::next() {
  if (!options_.ready()) return std::nullopt;
  std::vector<std::string> not_allowed;
  std::optional<Eviction> eviction;
  for (auto& [key, attempt] : attempts_.all()) {
    if (attempt.until <= options_.now()) continue;  // its nominations have ended
    const RunningPod* victim = nextVictim(&attempt);
    if (victim == nullptr) continue;
    if (!planner_.stillAllowed(attempt, planOptions())) {
      not_allowed.push_back(key);
      continue;
    }
    eviction =
        Eviction{key, attempt.serial, *victim,
                 attempt.plan.options.below ? "Preempted" : "Reclaimed", whyOf(attempt, *victim)};
    break;
  }
  for (const std::string& key : not_allowed) breakOff(key);
  return eviction;
}

void GatedPreemption::answered(const Eviction& eviction, bool goes) {
  if (goes || !stands(eviction)) return;
  breakOff(eviction.key);
}

}  // namespace divvy::scheduler
