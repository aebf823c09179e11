#include "preemption/gated_eviction_planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "preemption/node_resources_fit.h"

namespace divvy::scheduler {
namespace {

// Possible victims per plan: the first in the order of reclaim.
constexpr std::size_t kMaxCandidates = 512;
// Groups of victims per plan for which the planner checks whether the plan holds without them.
constexpr std::size_t kMaxSpared = 32;

}  // namespace

// Reclaim comes first. Priorities count where nothing is owed, or where that is not enough.
std::vector<engine::ReclaimOptions> GatedEvictionPlanner::waysFor(const PodSet& pod_set,
                                                                  bool reclaims) {
  std::vector<engine::ReclaimOptions> ways;
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

// Places of other attempts of the same queue are a part of its guarantee. Those of other queues are
// not counted as borrowed: they may come to nothing.
void GatedEvictionPlanner::overlayOthers(const PodSet& pod_set, QuotaOverlay* overlay) const {
  for (const std::string& uid : parts_.attempts.terminatingBut(pod_set.key, parts_.running_pods))
    overlay->without(uid);
  for (const auto& [key, attempt] : parts_.attempts.all())
    if (key != pod_set.key && attempt.pod_set.queue == pod_set.queue)
      overlay->with("claim of " + key, {attempt.pod_set.queue, attempt.plan.use, {}});
}

// The pods among these that may not be evicted now.
std::set<engine::JobName> GatedEvictionPlanner::protectedOf(
    const std::vector<std::string>& uids, const PreemptionOptions& options) const {
  std::set<engine::JobName> all;
  IneligibleCounts ineligible;
  for (const std::string& uid : uids) {
    const RunningPod* one = parts_.running_pods.find(uid);
    if (one == nullptr || !mayEvict(*one, parts_.budgets, options, &ineligible)) all.emplace(uid);
  }
  return all;
}

// Protected pods, and victims of other attempts: these attempts may come to nothing.
std::set<engine::JobName> GatedEvictionPlanner::spared(const std::string& key,
                                                       const PreemptionOptions& options) const {
  std::vector<std::string> uids;
  uids.reserve(parts_.queues.held().size());
  for (const auto& [uid, held] : parts_.queues.held()) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  std::set<engine::JobName> all = protectedOf(uids, options);
  for (const auto& [other, attempt] : parts_.attempts.all())
    if (other != key)
      for (const std::string& uid : attempt.plan.victims) all.emplace(uid);
  return all;
}

std::optional<GatedEvictionPlan> GatedEvictionPlanner::plan(const PodSet& pod_set,
                                                            const PreemptionOptions& options) {
  const bool reclaims = !pod_set.queue.empty() && parts_.queues.reclaims(pod_set.queue);
  const std::set<std::string> gone = parts_.attempts.terminating(parts_.running_pods);
  QuotaOverlay overlay(parts_.queues);
  overlayOthers(pod_set, &overlay);
  Search search{pod_set, options, {}, {gone.begin(), gone.end()}, overlay};
  const std::set<engine::JobName> spared = this->spared(pod_set.key, options);
  for (const engine::ReclaimOptions& way : waysFor(pod_set, reclaims)) {
    search.terms = way;
    search.terms.spared = spared;
    for (const bool together : {true, false}) {
      search.terms.together = together;
      std::optional<GatedEvictionPlan> plan = tryPlan(search);
      if (plan) plan->options = way;
      if (plan) return plan;
    }
    ++(way.below ? parts_.counts.gated : parts_.counts.reclaims).none;
  }
  return std::nullopt;
}

bool GatedEvictionPlanner::stillAllowed(const EvictionAttempt& attempt,
                                        const PreemptionOptions& options) {
  GatedEvictionPlan left = attempt.plan;
  std::erase_if(left.victims, [&](const std::string& uid) {
    const RunningPod* one = parts_.running_pods.find(uid);
    return one == nullptr || one->terminating;
  });
  QuotaOverlay overlay(parts_.queues);
  overlayOthers(attempt.pod_set, &overlay);
  engine::ReclaimOptions terms = attempt.plan.options;
  if (!terms.below && !parts_.queues.reclaims(attempt.pod_set.queue)) return false;
  // isFair() looks at the chosen victims only.
  terms.spared = protectedOf(left.victims, options);
  if (!isFair(attempt.pod_set, std::move(terms), left)) return false;
  for (const std::string& uid : left.victims) overlay.without(uid);
  const bool may = withinQuota(attempt.pod_set, left.use);
  for (const std::string& uid : left.victims) overlay.again(uid);
  return may;
}

engine::EvictionCosts GatedEvictionPlanner::costsOf(const QueueTree::Groups& groups,
                                                    const PreemptionOptions& options) const {
  engine::EvictionCosts costs;
  for (const std::vector<std::string>& group : groups) {
    if (costs.of.size() + group.size() > kMaxCandidates) continue;
    for (const std::string& uid : group)
      if (const RunningPod* one = parts_.running_pods.find(uid))
        addEvictionCost(*one, parts_.budgets, options, &costs);
  }
  return costs;
}

// How much the pods use depends on where they fit: the first round takes all possible victims, the
// second those for the usage that the first one found.
std::optional<GatedEvictionPlan> GatedEvictionPlanner::tryPlan(const Search& search) {
  std::optional<std::vector<ModelUsage>> use;
  for (int round = 0; round < 2; ++round) {
    const engine::EvictionCosts costs =
        costsOf(parts_.queues.reclaimable(search.pod_set.queue, use, search.terms), search.options);
    if (costs.of.empty() && search.terminating.empty()) return std::nullopt;
    Result<std::optional<EvictionPlan>> found =
        parts_.cache.planEvictions(search.pod_set.pods, search.terminating, costs);
    if (!found || !*found) return std::nullopt;
    GatedEvictionPlan plan;
    plan.victims = std::move((*found)->victims);
    plan.places = std::move((*found)->places);
    plan.use = std::move((*found)->use);
    use = plan.use;
    if (accept(search, &plan)) return plan;
  }
  return std::nullopt;
}

// All victims may be evicted at once, and the queue's quota suffices then.
bool GatedEvictionPlanner::accept(const Search& search, GatedEvictionPlan* plan) {
  if (!isFair(search.pod_set, search.terms, *plan)) return false;
  const std::size_t chosen = plan->victims.size();
  for (const std::string& uid : plan->victims) search.overlay.without(uid);
  const bool enough = addForQueue(search, plan);
  if (enough && chosen > 0 && plan->victims.size() > chosen) spareVictims(search, plan);
  for (const std::string& uid : plan->victims) search.overlay.again(uid);
  if (!enough || (plan->victims.empty() && search.terminating.empty())) return false;
  return nodeResourcesFit(search, *plan);
}

// No pod is evicted for a pod that would lack CPU or memory then.
bool GatedEvictionPlanner::nodeResourcesFit(const Search& search,
                                            const GatedEvictionPlan& plan) const {
  std::set<std::string> without(search.terminating.begin(), search.terminating.end());
  without.insert(plan.victims.begin(), plan.victims.end());
  std::vector<NodeResourcesFit::Guest> guests;
  for (std::size_t i = 0; i < search.pod_set.pods.size(); ++i)
    guests.push_back({&search.pod_set.pods[i], plan.places[i].node.text});
  return NodeResourcesFit(parts_.cache, parts_.running_pods).exceeding(guests, without).empty();
}

// Victims that were added for the queue's quota may free the devices for which others were chosen.
void GatedEvictionPlanner::spareVictims(const Search& search, GatedEvictionPlan* plan) {
  std::map<std::string, std::set<std::string>> together;
  for (const std::string& uid : plan->victims) {
    const RunningPod* one = parts_.running_pods.find(uid);
    together[one == nullptr || one->group.empty() ? uid : one->group].insert(uid);
  }
  std::size_t checked = 0;
  for (const auto& [name, group] : together) {
    if (++checked > kMaxSpared) break;
    std::vector<std::string> left;
    for (const std::string& uid : plan->victims)
      if (!group.contains(uid)) left.push_back(uid);
    std::vector<std::string> without = search.terminating;
    without.insert(without.end(), left.begin(), left.end());
    for (const std::string& uid : group) search.overlay.again(uid);
    Result<std::optional<EvictionPlan>> found =
        parts_.cache.planEvictions(search.pod_set.pods, without, {});
    if (found && *found && (*found)->victims.empty() &&
        withinQuota(search.pod_set, (*found)->use)) {
      plan->victims = std::move(left);
      plan->places = std::move((*found)->places);
      plan->use = std::move((*found)->use);
    } else {
      for (const std::string& uid : group) search.overlay.without(uid);
    }
  }
}

bool GatedEvictionPlanner::withinQuota(const PodSet& pod_set,
                                       const std::vector<ModelUsage>& use) const {
  return pod_set.queue.empty() || !parts_.queues.checkQuota(pod_set.queue, use);
}

bool GatedEvictionPlanner::isFair(const PodSet& pod_set, engine::ReclaimOptions terms,
                                  const GatedEvictionPlan& plan) const {
  const std::set<std::string> chosen(plan.victims.begin(), plan.victims.end());
  terms.only.emplace();
  for (const std::string& uid : chosen) terms.only->emplace(uid);
  terms.together = true;
  std::size_t may = 0;
  for (const auto& group : parts_.queues.reclaimable(pod_set.queue, plan.use, terms))
    may += group.size();
  return may == chosen.size();
}

// Adds victims that use the queue's quota and not its devices. It takes possible ones in order, and
// only those that the quota needs.
bool GatedEvictionPlanner::addForQueue(const Search& search, GatedEvictionPlan* plan) {
  const PodSet& pod_set = search.pod_set;
  if (withinQuota(pod_set, plan->use))
    return !plan->victims.empty() ||
           !parts_.attempts.terminatingBut(pod_set.key, parts_.running_pods).empty();
  engine::ReclaimOptions all = search.terms;
  all.together = true;
  QueueTree::Groups asked = parts_.queues.reclaimable(pod_set.queue, plan->use, all);
  if (asked.size() > kMaxCandidates) asked.resize(kMaxCandidates);
  for (const auto& group : asked)
    for (const std::string& uid : group) search.overlay.without(uid);
  const bool enough = withinQuota(pod_set, plan->use);
  for (std::size_t i = asked.size(); i-- > 0;) {
    for (const std::string& uid : asked[i]) search.overlay.again(uid);
    if (!enough || withinQuota(pod_set, plan->use)) continue;
    for (const std::string& uid : asked[i]) search.overlay.without(uid);
    plan->victims.insert(plan->victims.end(), asked[i].begin(), asked[i].end());
  }
  return enough;
}

}  // namespace divvy::scheduler
