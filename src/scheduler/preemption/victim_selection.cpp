#include "preemption/victim_selection.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/quantity.h"

namespace divvy::scheduler {
namespace {

// Where those of a group are that are on other nodes; no node of a cluster can be called that.
constexpr const char* kElsewhere = "/elsewhere";

std::optional<Quantity> allocatable(const NodeSnapshot& snapshotOf, const char* resource) {
  const auto found = snapshotOf.allocatable.find(resource);
  if (found == snapshotOf.allocatable.end()) return std::nullopt;
  Result<Quantity> read = Quantity::parse(found->second);
  return read ? std::optional(*read) : std::nullopt;
}

// A resource that the node does not state suffices: kube-scheduler would refuse the node anyway.
engine::Node nodeWith(const NodeSnapshot& snapshotOf) {
  engine::Node node = snapshotOf.node;
  if (const auto cpu = allocatable(snapshotOf, "cpu")) node.cpu.milli = cpu->milli();
  if (const auto memory = allocatable(snapshotOf, "memory"))
    node.memory = Bytes{static_cast<std::uint64_t>(
        std::max<std::int64_t>(memory->whole().value_or(memory->milli() / 1000), 0))};
  return node;
}

engine::Request requestOf(const PreemptorPod& preemptor) {
  engine::Request request = preemptor.request;
  if (request.shape.containers.empty()) request.shape.containers.emplace_back();
  request.shape.containers.front().cpu = preemptor.resources.cpu;
  request.shape.containers.front().memory = preemptor.resources.memory;
  return request;
}

std::int64_t ran(const RunningPod& one, const PreemptionOptions& options) {
  return one.placed_at == 0 ? 0 : std::max<std::int64_t>(options.now - one.placed_at, 0);
}

// The node with all its pods but the preemptor. With `without_going` terminating pods are left out,
// too.
class Site {
 public:
  Site(const NodeSnapshot& snapshotOf, const PreemptorPod& preemptor,
       const RunningPods& running_pods, const PreemptionOptions& options, bool without_going)
      : engine(options.config), name(snapshotOf.node.name.text), there_(running_pods.on(name)) {
    const auto pools = engine.setPools(options.pools);
    if (!pools) fault_ = pools.error();
    keep(engine.setNode(nodeWith(snapshotOf)));
    std::map<std::string, engine::Allocation> all;
    for (const engine::Allocation& one : snapshotOf.held) all[one.id.text] = one;
    for (const RunningPod* one : there_) {
      engine::Allocation& held = all[one->uid];
      held.id = engine::RequestId(one->uid);
      held.placement.node = snapshotOf.node.name;
      held.placement.cpu = one->resources.cpu;
      held.placement.memory = one->resources.memory;
      if (one->terminating && without_going) all.erase(one->uid);
      terminating = terminating || one->terminating;
      if (!one->terminating || !without_going) ++pods;
    }
    all.erase(preemptor.uid);
    for (const auto& [uid, held] : all) keep(engine.adopt(held));
    if (const auto most = allocatable(snapshotOf, "pods"))
      most_pods = most->whole().value_or(most_pods);
  }

  Result<void> made() const {
    if (fault_) return *fault_;
    return {};
  }
  bool full() const { return pods >= most_pods; }
  const std::vector<const RunningPod*>& there() const { return there_; }

  // Holds nothing here, but is evicted together with a pod that is here.
  void addElsewhere(const RunningPod& one) {
    if (!elsewhere_) {
      engine::Node node;
      node.name = engine::NodeName(kElsewhere);
      node.cordoned = true;
      keep(engine.setNode(node));
      elsewhere_ = true;
    }
    engine::Allocation held;
    held.id = engine::RequestId(one.uid);
    held.placement.node = engine::NodeName(kElsewhere);
    keep(engine.adopt(held));
  }

  engine::Engine engine;
  const std::string name;
  bool terminating = false;  // a pod here terminates
  std::int64_t pods = 0;
  std::int64_t most_pods = std::numeric_limits<std::int64_t>::max();

 private:
  void keep(const Result<void>& done) {
    if (!done && !fault_) fault_ = done.error();
  }

  std::vector<const RunningPod*> there_;
  std::optional<Error> fault_;
  bool elsewhere_ = false;
};

// The possible victims, and their eviction costs.
class Chooser {
 public:
  Chooser(const PreemptorPod& preemptor, const DisruptionBudgets& budgets,
          const PreemptionOptions& options, IneligibleCounts* ineligible)
      : claimant_(preemptor), budgets_(budgets), options_(options), withheld_(ineligible) {}

  // Adds the pods of the node, and with each its whole group. A group with a protected member is no
  // victim.
  void add(Site* site, const RunningPods& running_pods) {
    std::set<std::string> groups;
    for (const RunningPod* one : site->there()) {
      if (one->terminating) continue;
      if (one->group.empty()) {
        if (may(*one)) addEvictionCost(*one);
      } else {
        groups.insert(one->group);
      }
    }
    for (const std::string& group : groups) addGroup(group, site, running_pods);
  }

  const engine::EvictionCosts& costs() const { return costs_; }

 private:
  void addGroup(const std::string& group, Site* site, const RunningPods& running_pods) {
    std::vector<const RunningPod*> members = running_pods.inGroup(group);
    std::erase_if(members, [](const RunningPod* one) { return one->terminating; });
    if (!std::all_of(members.begin(), members.end(),
                     [&](const RunningPod* one) { return may(*one); }))
      return;
    for (const RunningPod* one : members) {
      if (one->node != site->name) site->addElsewhere(*one);
      addEvictionCost(*one);
    }
  }

  bool may(const RunningPod& one) {
    if (one.priority >= claimant_.priority || one.uid == claimant_.uid) return false;
    return mayEvict(one, budgets_, options_, withheld_);
  }

  void addEvictionCost(const RunningPod& one) {
    scheduler::addEvictionCost(one, budgets_, options_, &costs_);
  }

  const PreemptorPod& claimant_;
  const DisruptionBudgets& budgets_;
  const PreemptionOptions& options_;
  IneligibleCounts* withheld_;
  engine::EvictionCosts costs_;
};

// All fits but the number of pods: the pod with the lowest eviction cost.
std::optional<engine::Preemption> oneLess(const Site& site, const engine::EvictionCosts& costs) {
  std::optional<engine::Preemption> best;
  for (const RunningPod* one : site.there()) {
    const auto addEvictionCost = costs.of.find(engine::RequestId(one->uid));
    // A group would end other pods, too: groups remain for requests that lack more.
    if (addEvictionCost == costs.of.end() || !addEvictionCost->second.group.empty()) continue;
    const engine::PreemptionCost cost{0, addEvictionCost->second.priority,
                                      addEvictionCost->second.work_lost, 1};
    if (!best || cost < best->cost)
      best = engine::Preemption{engine::NodeName(site.name), {addEvictionCost->first}, cost};
  }
  return best;
}

}  // namespace

bool mayEvict(const RunningPod& running, const DisruptionBudgets& budgets,
              const PreemptionOptions& options, IneligibleCounts* ineligible) {
  if (running.fixed) {
    ++ineligible->fixed;
    return false;
  }
  if (ran(running, options) < running.min_runtime.value_or(options.min_runtime)) {
    ++ineligible->young;
    return false;
  }
  // The API server evicts no pod that two budgets cover.
  const std::vector<const kube::DisruptionBudget*> under = budgets.of(running);
  if (under.size() > 1 || (under.size() == 1 && under.front()->allowed <= 0)) {
    ++ineligible->budgeted;
    return false;
  }
  return true;
}

void addEvictionCost(const RunningPod& running, const DisruptionBudgets& budgets,
                     const PreemptionOptions& options, engine::EvictionCosts* costs) {
  engine::EvictionCost addEvictionCost{running.priority, ran(running, options), running.group, ""};
  const std::vector<const kube::DisruptionBudget*> under = budgets.of(running);
  if (!under.empty()) {
    addEvictionCost.budget = under.front()->meta.uid;
    costs->budgets[addEvictionCost.budget] = under.front()->allowed;
  }
  costs->of[engine::RequestId(running.uid)] = std::move(addEvictionCost);
}

Result<std::optional<PreemptionPlan>> selectVictims(const NodeSnapshot& snapshotOf,
                                                    const PreemptorPod& preemptor,
                                                    const RunningPods& running_pods,
                                                    const DisruptionBudgets& budgets,
                                                    const PreemptionOptions& options,
                                                    IneligibleCounts* ineligible) {
  std::optional<PreemptionPlan> none;
  Site site(snapshotOf, preemptor, running_pods, options, true);
  const engine::Request request = requestOf(preemptor);
  Chooser chooser(preemptor, budgets, options, ineligible);
  if (site.made()) chooser.add(&site, running_pods);
  if (const Result<void> made = site.made(); !made) return made.error();
  const Result<engine::Decision> already = site.engine.decide(request);
  if (!already) return already.error();
  PreemptionPlan plan;
  plan.node = site.name;
  plan.cost.highest = std::numeric_limits<std::int64_t>::min();
  if (already->fits() && !site.full()) {
    // As it is, or as it will be.
    if (!site.terminating) return none;
    plan.placement = *already->placement;
    return std::optional(std::move(plan));
  }
  Result<std::optional<engine::Preemption>> found =
      already->fits() ? oneLess(site, chooser.costs())
                      : site.engine.preempt(request, preemptor.priority, chooser.costs());
  ineligible->tries += site.engine.tries();
  if (!found) return found.error();
  if (!*found || (*found)->cost.violations > 0) return none;
  for (const engine::RequestId& id : (*found)->victims) {
    plan.victims.push_back(id.text);
    site.engine.release(id);
  }
  plan.cost = (*found)->cost;
  Result<engine::Decision> then = site.engine.decide(request);
  if (!then) return then.error();
  if (!then->fits()) return none;
  plan.placement = std::move(*then->placement);
  return std::optional(std::move(plan));
}

Result<bool> fitsNow(const NodeSnapshot& snapshotOf, const PreemptorPod& preemptor,
                     const RunningPods& running_pods, const PreemptionOptions& options) {
  const Site site(snapshotOf, preemptor, running_pods, options, false);
  if (const Result<void> made = site.made(); !made) return made.error();
  const Result<engine::Decision> decision = site.engine.decide(requestOf(preemptor));
  if (!decision) return decision.error();
  return decision->fits() && !site.full();
}

}  // namespace divvy::scheduler
