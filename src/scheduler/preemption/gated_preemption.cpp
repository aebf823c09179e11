#include "preemption/gated_preemption.h"

#include <algorithm>
#include <utility>

namespace divvy::scheduler {
namespace {

// At a time.
constexpr std::size_t kMaxCourses = 32;
// Looked at for one plan: the first of those who may be asked.
constexpr std::size_t kMaxAsked = 512;
constexpr std::size_t kMaxTries = 1024;
// As often as long as a plan took there is none: others want to be answered meanwhile.
constexpr std::int64_t kRest = 9;
// Of one plan so many groups are looked at for whether it does without them.
constexpr std::size_t kMaxSpared = 32;
// Beside the time that victims have to end in: for their room to be given away.
constexpr std::int64_t kStartMs = 120'000;
constexpr std::int64_t kFirstPauseMs = 1'000;
constexpr unsigned kMaxDoublings = 6;

std::set<std::string> uidsOf(const PodSet& pod_set) {
  std::set<std::string> uids;
  for (const kube::Pod& pod : pod_set.pods) uids.insert(pod.meta.uid);
  return uids;
}

std::string countOf(std::size_t count, const char* one, const char* more) {
  return std::to_string(count) + (count == 1 ? one : more);
}

}  // namespace

// What queues have, as it would be: all is as it was afterwards.
class GatedPreemption::QuotaOverlay {
 public:
  explicit QuotaOverlay(QueueTree& queues) : queues_(queues) {}
  ~QuotaOverlay() {
    for (const std::string& uid : added_) queues_.discharge(uid);
    for (auto& [uid, held] : taken_) queues_.charge(uid, std::move(held));
  }
  QuotaOverlay(const QuotaOverlay&) = delete;
  QuotaOverlay& operator=(const QuotaOverlay&) = delete;

  void without(const std::string& uid) {
    const auto held = queues_.held().find(uid);
    if (held == queues_.held().end()) return;
    taken_.emplace(uid, held->second);
    queues_.discharge(uid);
  }
  void again(const std::string& uid) {
    const auto held = taken_.find(uid);
    if (held == taken_.end()) return;
    queues_.charge(uid, std::move(held->second));
    taken_.erase(held);
  }
  void with(const std::string& name, QueueTree::QueueCharge held) {
    added_.push_back(name);
    queues_.charge(name, std::move(held));
  }

 private:
  QueueTree& queues_;
  std::map<std::string, QueueTree::QueueCharge> taken_;
  std::vector<std::string> added_;
};

GatedPreemption::GatedPreemption(SchedulerCache& cache, QueueTree& queues,
                                 const RunningPods& running_pods, const DisruptionBudgets& budgets,
                                 PreemptionCounts& counts, Options options)
    : cache_(cache),
      queues_(queues),
      running_pods_(running_pods),
      budgets_(budgets),
      counts_(counts),
      options_(std::move(options)) {}

PreemptionOptions GatedPreemption::options() const {
  return {cache_.config(), {}, options_.min_runtime, options_.calendar()};
}

// ---- what is under way --------------------------------------------------------------------------

std::optional<std::string> GatedPreemption::want(const PodSet& pod_set) {
  const auto known = attempts_.find(pod_set.key);
  if (known != attempts_.end()) {
    const bool same = uidsOf(known->second.pod_set) == uidsOf(pod_set);
    if (same && !spent(known->second)) return known->second.text;
    ++countsOf(known->second.plan).broken;
    end(pod_set.key);
  }
  const engine::Instant began = options_.now();
  if (!options_.ready() || attempts_.size() >= kMaxCourses || began < rest_until_)
    return std::nullopt;
  if (!mayTry(pod_set.key)) return std::nullopt;
  std::optional<Plan> plan = planFor(pod_set);
  const engine::Instant ended = options_.now();
  rest_until_ = {ended.ms + (ended.ms - began.ms) * kRest};
  if (!plan || !begin(pod_set, std::move(*plan))) return std::nullopt;
  return attempts_.at(pod_set.key).text;
}

// All who make room are gone, and there was none all the same.
bool GatedPreemption::spent(const Attempt& attempt) const {
  return !attempt.leaving.empty() &&
         std::none_of(attempt.leaving.begin(), attempt.leaving.end(),
                      [&](const std::string& uid) { return running_pods_.find(uid) != nullptr; });
}

bool GatedPreemption::mayTry(const std::string& key) {
  const engine::Instant now = options_.now();
  // Of those who were not heard of for longest nothing is remembered.
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

bool GatedPreemption::begin(const PodSet& pod_set, Plan plan) {
  std::int64_t grace = 0;
  std::set<std::string> leaving(plan.victims.begin(), plan.victims.end());
  for (const engine::Placement& place : plan.places)
    for (const RunningPod* one : running_pods_.on(place.node.text))
      if (one->terminating) leaving.insert(one->uid);
  // It is not on the devices that they are in the way.
  if (leaving.empty())
    for (const std::string& uid : running_pods_.terminating()) leaving.insert(uid);
  for (const std::string& uid : leaving)
    if (const RunningPod* one = running_pods_.find(uid)) grace = std::max(grace, one->grace);
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Instant until{options_.now().ms + grace * kMsPerSecond + kStartMs};
  for (std::size_t i = 0; i < pod_set.pods.size(); ++i) {
    if (cache_.nominate(pod_set.pods[i], plan.places[i], until)) continue;
    while (i-- > 0) cache_.denominate(pod_set.pods[i].meta.uid);
    return false;
  }
  ++countsOf(plan).planned;
  std::string text = plan.victims.empty()
                         ? "waits for pods that are ending"
                         : countOf(plan.victims.size(), " pod ends", " pods end") + " for it";
  text += plan.options.below ? ": of lower priority"
                             : ": queue " + pod_set.queue + " takes back what others borrowed";
  std::vector<std::string> to_ask(plan.victims.rbegin(), plan.victims.rend());
  attempts_.insert_or_assign(
      pod_set.key, Attempt{pod_set, std::move(plan), std::move(leaving), std::move(to_ask), until,
                           std::move(text), ++attempts_begun_});
  return true;
}

void GatedPreemption::end(const std::string& key) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return;
  for (const kube::Pod& pod : at->second.pod_set.pods) cache_.denominate(pod.meta.uid);
  attempts_.erase(at);
}

void GatedPreemption::started(const std::string& key) {
  const auto at = attempts_.find(key);
  if (at != attempts_.end()) ++countsOf(at->second.plan).started;
  end(key);
  tries_.erase(key);
}

void GatedPreemption::drop(const std::string& uid) {
  tries_.erase(uid);
  std::vector<std::string> keys;
  for (const auto& [key, attempt] : attempts_)
    if (uidsOf(attempt.pod_set).contains(uid)) keys.push_back(key);
  for (const std::string& key : keys) {
    ++countsOf(attempts_.at(key).plan).broken;
    end(key);
  }
}

void GatedPreemption::forget() {
  while (!attempts_.empty()) end(attempts_.begin()->first);
  tries_.clear();
}

void GatedPreemption::advance() {
  std::vector<std::string> keys;
  for (const auto& [key, attempt] : attempts_)
    if (attempt.until <= options_.now()) keys.push_back(key);
  for (const std::string& key : keys) {
    ++countsOf(attempts_.at(key).plan).expired;
    // A dead node's pods, or those whose finalizers hang, end nobody knows when.
    const std::set<std::string>& leaving = attempts_.at(key).leaving;
    stuck_.insert(leaving.begin(), leaving.end());
    end(key);
  }
  std::erase_if(stuck_, [&](const std::string& uid) { return running_pods_.find(uid) == nullptr; });
}

// Others may have ended since by themselves, or be protected now.
bool GatedPreemption::stillOwed(const Attempt& attempt) {
  Plan left = attempt.plan;
  std::erase_if(left.victims, [&](const std::string& uid) {
    const RunningPod* one = running_pods_.find(uid);
    return one == nullptr || one->terminating;
  });
  QuotaOverlay overlay(queues_);
  overlayOthers(attempt.pod_set, &overlay);
  engine::ReclaimTerms options = attempt.plan.options;
  if (!options.below && !queues_.reclaims(attempt.pod_set.queue)) return false;
  // fair() asks nobody else: whether others might end is nothing to it.
  options.spared = sparedOf(left.victims);
  if (!fair(attempt.pod_set, std::move(options), left)) return false;
  for (const std::string& uid : left.victims) overlay.without(uid);
  const bool may = admitted(attempt.pod_set, left.use);
  for (const std::string& uid : left.victims) overlay.again(uid);
  return may;
}

std::string GatedPreemption::whyOf(const Attempt& attempt, const RunningPod& victim) const {
  const kube::Pod& first = attempt.pod_set.pods.front();
  const std::size_t count = attempt.pod_set.pods.size();
  const std::string named = first.meta.space + '/' + first.meta.name;
  std::string text = "ends on " + victim.node + " for ";
  text += count == 1 ? "pod " + named
                     : std::to_string(count) + " pods that start together, as " + named;
  if (!attempt.pod_set.queue.empty()) text += " of queue " + attempt.pod_set.queue;
  if (!attempt.plan.options.below) return text + ", which is guaranteed what was borrowed";
  return text + ": its priority is " + std::to_string(*attempt.plan.options.below) +
         ", this one's " + std::to_string(victim.priority);
}

std::optional<GatedPreemption::Eviction> GatedPreemption::next() {
  if (!options_.ready()) return std::nullopt;
  std::set<std::string> over;
  std::optional<Eviction> eviction;
  for (auto at = attempts_.begin(); at != attempts_.end() && !eviction; ++at) {
    auto& [key, attempt] = *at;
    if (attempt.until <= options_.now()) continue;  // nothing is kept for them any more
    while (!attempt.to_ask.empty() && !eviction) {
      const RunningPod* one = running_pods_.find(attempt.to_ask.back());
      attempt.to_ask.pop_back();
      if (one == nullptr || one->terminating) continue;
      if (!stillOwed(attempt)) {
        over.insert(key);
        break;
      }
      eviction =
          Eviction{key, attempt.serial, *one,
                   attempt.plan.options.below ? "Preempted" : "Reclaimed", whyOf(attempt, *one)};
    }
  }
  for (const std::string& key : over) {
    ++countsOf(attempts_.at(key).plan).broken;
    end(key);
  }
  return eviction;
}

void GatedPreemption::answered(const Eviction& eviction, bool goes) {
  if (goes || !stands(eviction)) return;
  ++countsOf(attempts_.at(eviction.key).plan).broken;
  end(eviction.key);
}

// ---- who has to end -----------------------------------------------------------------------------

// Told to end, and not known for not doing so.
std::set<std::string> GatedPreemption::terminating() const {
  std::set<std::string> gone;
  for (const std::string& uid : running_pods_.terminating())
    if (!stuck_.contains(uid)) gone.insert(uid);
  return gone;
}

// These, or to be told for others than that one.
std::set<std::string> GatedPreemption::terminatingBut(const std::string& but) const {
  std::set<std::string> gone = terminating();
  for (const auto& [key, attempt] : attempts_)
    if (key != but) gone.insert(attempt.plan.victims.begin(), attempt.plan.victims.end());
  return gone;
}

// What others of the same queue are about to get is a part of what that is owed. Of other queues it
// makes nobody borrow more: it may come to nothing.
void GatedPreemption::overlayOthers(const PodSet& pod_set, QuotaOverlay* overlay) const {
  for (const std::string& uid : terminatingBut(pod_set.key)) overlay->without(uid);
  for (const auto& [key, attempt] : attempts_)
    if (key != pod_set.key && attempt.pod_set.queue == pod_set.queue)
      overlay->with("claim of " + key, {attempt.pod_set.queue, attempt.plan.use, {}});
}

// Who may not end now, and who is to end for others than that one: these may come to nothing, so
// that nothing is built on them.
std::set<engine::JobName> GatedPreemption::spared(const std::string& but) const {
  std::vector<std::string> uids;
  uids.reserve(queues_.held().size());
  for (const auto& [uid, held] : queues_.held()) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  std::set<engine::JobName> all = sparedOf(uids);
  for (const auto& [key, attempt] : attempts_)
    if (key != but)
      for (const std::string& uid : attempt.plan.victims) all.emplace(uid);
  return all;
}

// Of these those who may not end now.
std::set<engine::JobName> GatedPreemption::sparedOf(const std::vector<std::string>& uids) const {
  std::set<engine::JobName> all;
  const PreemptionOptions options = this->options();
  IneligibleCounts ineligible;
  for (const std::string& uid : uids) {
    const RunningPod* one = running_pods_.find(uid);
    if (one == nullptr || !mayEvict(*one, budgets_, options, &ineligible)) all.emplace(uid);
  }
  return all;
}

GatedPreemptionCounts& GatedPreemption::countsOf(const Plan& plan) {
  return plan.options.below ? counts_.gated : counts_.reclaims;
}

// What is owed goes first; only where nothing is, or that is not enough, priorities count.
std::vector<engine::ReclaimTerms> GatedPreemption::waysFor(const PodSet& pod_set, bool reclaims) {
  std::vector<engine::ReclaimTerms> ways;
  if (reclaims) ways.emplace_back();
  std::int64_t lowest = pod_set.pods.front().priority;
  bool all = true;
  for (const kube::Pod& pod : pod_set.pods) {
    lowest = std::min(lowest, pod.priority);
    all = all && pod.preempts;
  }
  if (!all) return ways;
  ways.emplace_back().below = lowest;
  ways.back().borrowed = reclaims;
  return ways;
}

std::optional<GatedPreemption::Plan> GatedPreemption::planFor(const PodSet& pod_set) {
  const bool reclaims = !pod_set.queue.empty() && queues_.reclaims(pod_set.queue);
  const std::set<std::string> gone = terminating();
  QuotaOverlay overlay(queues_);
  overlayOthers(pod_set, &overlay);
  const std::set<engine::JobName> spared = this->spared(pod_set.key);
  for (engine::ReclaimTerms& way : waysFor(pod_set, reclaims)) {
    const engine::ReclaimTerms said = way;
    way.spared = spared;
    for (const bool together : {true, false}) {
      way.together = together;
      std::optional<Plan> plan = tryPlan(pod_set, way, gone, &overlay);
      if (plan) plan->options = said;
      if (plan) return plan;
    }
    ++(said.below ? counts_.gated : counts_.reclaims).none;
  }
  return std::nullopt;
}

engine::EvictionCosts GatedPreemption::stakesOf(const QueueTree::Groups& groups,
                                                const PreemptionOptions& options) const {
  engine::EvictionCosts stakes;
  for (const std::vector<std::string>& group : groups) {
    if (stakes.of.size() + group.size() > kMaxAsked) continue;
    for (const std::string& uid : group)
      if (const RunningPod* one = running_pods_.find(uid))
        addEvictionCost(*one, budgets_, options, &stakes);
  }
  return stakes;
}

// How much it is that they want depends on where they fit: first whoever might be asked is, then by
// what that came to.
std::optional<GatedPreemption::Plan> GatedPreemption::tryPlan(const PodSet& pod_set,
                                                              const engine::ReclaimTerms& options,
                                                              const std::set<std::string>& gone,
                                                              QuotaOverlay* overlay) {
  const std::vector<std::string> without(gone.begin(), gone.end());
  std::optional<std::vector<ModelUsage>> use;
  for (int round = 0; round < 2; ++round) {
    const engine::EvictionCosts stakes =
        stakesOf(queues_.reclaimable(pod_set.queue, use, options), this->options());
    if (stakes.of.empty() && gone.empty()) return std::nullopt;
    Result<std::optional<EvictionPlan>> found = cache_.planEvictions(pod_set.pods, without, stakes);
    if (!found || !*found) return std::nullopt;
    Plan plan;
    plan.victims = std::move((*found)->victims);
    plan.places = std::move((*found)->places);
    plan.use = std::move((*found)->use);
    use = plan.use;
    if (accept(pod_set, options, gone, &plan, overlay)) return plan;
  }
  return std::nullopt;
}

// All of them may be asked at once, and then the queue may have that much.
bool GatedPreemption::accept(const PodSet& pod_set, const engine::ReclaimTerms& options,
                             const std::set<std::string>& gone, Plan* plan, QuotaOverlay* overlay) {
  if (!fair(pod_set, options, *plan)) return false;
  const std::size_t chosen = plan->victims.size();
  for (const std::string& uid : plan->victims) overlay->without(uid);
  const bool enough = addForQueue(pod_set, options, plan, overlay);
  if (enough && chosen > 0 && plan->victims.size() > chosen)
    spareOthers(pod_set, gone, plan, overlay);
  for (const std::string& uid : plan->victims) overlay->again(uid);
  if (!enough || (plan->victims.empty() && gone.empty())) return false;
  return nodeResourcesFit(pod_set, gone, *plan);
}

// Nobody ends for who would not find processors and memory then.
bool GatedPreemption::nodeResourcesFit(const PodSet& pod_set, const std::set<std::string>& gone,
                                       const Plan& plan) const {
  std::set<std::string> without = gone;
  without.insert(plan.victims.begin(), plan.victims.end());
  std::vector<NodeResourcesFit::Guest> guests;
  for (std::size_t i = 0; i < pod_set.pods.size(); ++i)
    guests.push_back({&pod_set.pods[i], plan.places[i].node.text});
  return NodeResourcesFit(cache_, running_pods_).exceeding(guests, without).empty();
}

// Who has to end for the queue may make the room that others were chosen for.
void GatedPreemption::spareOthers(const PodSet& pod_set, const std::set<std::string>& gone,
                                  Plan* plan, QuotaOverlay* overlay) {
  std::map<std::string, std::set<std::string>> together;
  for (const std::string& uid : plan->victims) {
    const RunningPod* one = running_pods_.find(uid);
    together[one == nullptr || one->group.empty() ? uid : one->group].insert(uid);
  }
  std::size_t looked_at = 0;
  for (const auto& [name, group] : together) {
    if (++looked_at > kMaxSpared) break;
    std::vector<std::string> left;
    for (const std::string& uid : plan->victims)
      if (!group.contains(uid)) left.push_back(uid);
    std::vector<std::string> without(gone.begin(), gone.end());
    without.insert(without.end(), left.begin(), left.end());
    for (const std::string& uid : group) overlay->again(uid);
    Result<std::optional<EvictionPlan>> found = cache_.planEvictions(pod_set.pods, without, {});
    if (found && *found && (*found)->victims.empty() && admitted(pod_set, (*found)->use)) {
      plan->victims = std::move(left);
      plan->places = std::move((*found)->places);
      plan->use = std::move((*found)->use);
    } else {
      for (const std::string& uid : group) overlay->without(uid);
    }
  }
}

bool GatedPreemption::admitted(const PodSet& pod_set, const std::vector<ModelUsage>& use) {
  return pod_set.queue.empty() || !queues_.checkQuota(pod_set.queue, use);
}

bool GatedPreemption::fair(const PodSet& pod_set, engine::ReclaimTerms options, const Plan& plan) {
  const std::set<std::string> chosen(plan.victims.begin(), plan.victims.end());
  options.only.emplace();
  for (const std::string& uid : chosen) options.only->emplace(uid);
  options.together = true;
  std::size_t may = 0;
  for (const auto& group : queues_.reclaimable(pod_set.queue, plan.use, options))
    may += group.size();
  return may == chosen.size();
}

// Who is in the way of the queue, though not on the devices: of the first who may be asked those
// without whom it is not enough.
bool GatedPreemption::addForQueue(const PodSet& pod_set, const engine::ReclaimTerms& options,
                                  Plan* plan, QuotaOverlay* overlay) {
  const auto may = [&] {
    return pod_set.queue.empty() || !queues_.checkQuota(pod_set.queue, plan->use);
  };
  if (may()) return !plan->victims.empty() || !terminatingBut(pod_set.key).empty();
  engine::ReclaimTerms all = options;
  all.together = true;
  QueueTree::Groups asked = queues_.reclaimable(pod_set.queue, plan->use, all);
  if (asked.size() > kMaxAsked) asked.resize(kMaxAsked);
  for (const auto& group : asked)
    for (const std::string& uid : group) overlay->without(uid);
  const bool enough = admitted(pod_set, plan->use);
  for (std::size_t i = asked.size(); i-- > 0;) {
    for (const std::string& uid : asked[i]) overlay->again(uid);
    if (!enough || admitted(pod_set, plan->use)) continue;
    for (const std::string& uid : asked[i]) overlay->without(uid);
    plan->victims.insert(plan->victims.end(), asked[i].begin(), asked[i].end());
  }
  return enough;
}

}  // namespace divvy::scheduler
