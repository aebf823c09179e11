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

std::optional<Quantity> allocatable(const Premises& premises, const char* resource) {
  const auto found = premises.allocatable.find(resource);
  if (found == premises.allocatable.end()) return std::nullopt;
  Result<Quantity> read = Quantity::parse(found->second);
  return read ? std::optional(*read) : std::nullopt;
}

// Of what a node does not say there is enough, as kube-scheduler would refuse it anyway.
engine::Node nodeWith(const Premises& premises) {
  engine::Node node = premises.node;
  if (const auto cpu = allocatable(premises, "cpu")) node.cpu.milli = cpu->milli();
  if (const auto memory = allocatable(premises, "memory"))
    node.memory = Bytes{static_cast<std::uint64_t>(
        std::max<std::int64_t>(memory->whole().value_or(memory->milli() / 1000), 0))};
  return node;
}

engine::Request requestOf(const Claimant& claimant) {
  engine::Request request = claimant.request;
  if (request.shape.containers.empty()) request.shape.containers.emplace_back();
  request.shape.containers.front().cpu = claimant.room.cpu;
  request.shape.containers.front().memory = claimant.room.memory;
  return request;
}

std::int64_t ran(const Lodger& one, const PreemptionTerms& terms) {
  return one.placed_at == 0 ? 0 : std::max<std::int64_t>(terms.now - one.placed_at, 0);
}

// The node with everybody on it but the claimant, and without those who are ending where
// `without_going`.
class Site {
 public:
  Site(const Premises& premises, const Claimant& claimant, const Lodgers& lodgers,
       const PreemptionTerms& terms, bool without_going)
      : engine(terms.config), name(premises.node.name.text), there_(lodgers.on(name)) {
    const auto pools = engine.setPools(terms.pools);
    if (!pools) fault_ = pools.error();
    keep(engine.setNode(nodeWith(premises)));
    std::map<std::string, engine::Allocation> all;
    for (const engine::Allocation& one : premises.held) all[one.id.text] = one;
    for (const Lodger* one : there_) {
      engine::Allocation& held = all[one->uid];
      held.id = engine::RequestId(one->uid);
      held.placement.node = premises.node.name;
      held.placement.cpu = one->room.cpu;
      held.placement.memory = one->room.memory;
      if (one->going && without_going) all.erase(one->uid);
      going = going || one->going;
      if (!one->going || !without_going) ++pods;
    }
    all.erase(claimant.uid);
    for (const auto& [uid, held] : all) keep(engine.adopt(held));
    if (const auto most = allocatable(premises, "pods"))
      most_pods = most->whole().value_or(most_pods);
  }

  Result<void> made() const {
    if (fault_) return *fault_;
    return {};
  }
  bool full() const { return pods >= most_pods; }
  const std::vector<const Lodger*>& there() const { return there_; }

  // Holds nothing here, but has to end with somebody who is here.
  void addElsewhere(const Lodger& one) {
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
  bool going = false;  // somebody here is ending
  std::int64_t pods = 0;
  std::int64_t most_pods = std::numeric_limits<std::int64_t>::max();

 private:
  void keep(const Result<void>& done) {
    if (!done && !fault_) fault_ = done.error();
  }

  std::vector<const Lodger*> there_;
  std::optional<Error> fault_;
  bool elsewhere_ = false;
};

// Who may be asked to end, and what that costs.
class Chooser {
 public:
  Chooser(const Claimant& claimant, const Budgets& budgets, const PreemptionTerms& terms,
          Withheld* withheld)
      : claimant_(claimant), budgets_(budgets), terms_(terms), withheld_(withheld) {}

  // Those who are there, and with each its whole group; who has a group one of whom never ends
  // does not end either.
  void add(Site* site, const Lodgers& lodgers) {
    std::set<std::string> groups;
    for (const Lodger* one : site->there()) {
      if (one->going) continue;
      if (one->group.empty()) {
        if (may(*one)) stake(*one);
      } else {
        groups.insert(one->group);
      }
    }
    for (const std::string& group : groups) addGroup(group, site, lodgers);
  }

  const engine::Stakes& stakes() const { return stakes_; }

 private:
  void addGroup(const std::string& group, Site* site, const Lodgers& lodgers) {
    std::vector<const Lodger*> members = lodgers.inGroup(group);
    std::erase_if(members, [](const Lodger* one) { return one->going; });
    if (!std::all_of(members.begin(), members.end(), [&](const Lodger* one) { return may(*one); }))
      return;
    for (const Lodger* one : members) {
      if (one->node != site->name) site->addElsewhere(*one);
      stake(*one);
    }
  }

  bool may(const Lodger& one) {
    if (one.priority >= claimant_.priority || one.uid == claimant_.uid) return false;
    return mayEnd(one, budgets_, terms_, withheld_);
  }

  void stake(const Lodger& one) { scheduler::stake(one, budgets_, terms_, &stakes_); }

  const Claimant& claimant_;
  const Budgets& budgets_;
  const PreemptionTerms& terms_;
  Withheld* withheld_;
  engine::Stakes stakes_;
};

// Everything fits but one pod more: the one (or group of) whose end costs least.
std::optional<engine::Preemption> oneLess(const Site& site, const engine::Stakes& stakes) {
  std::optional<engine::Preemption> best;
  for (const Lodger* one : site.there()) {
    const auto stake = stakes.of.find(engine::RequestId(one->uid));
    // Of groups others would end, too: they are left for those who are short of more.
    if (stake == stakes.of.end() || !stake->second.group.empty()) continue;
    const engine::PreemptionCost cost{0, stake->second.priority, stake->second.work_lost, 1};
    if (!best || cost < best->cost)
      best = engine::Preemption{engine::NodeName(site.name), {stake->first}, cost};
  }
  return best;
}

}  // namespace

bool mayEnd(const Lodger& lodger, const Budgets& budgets, const PreemptionTerms& terms,
            Withheld* withheld) {
  if (lodger.fixed) {
    ++withheld->fixed;
    return false;
  }
  if (ran(lodger, terms) < lodger.min_runtime.value_or(terms.min_runtime)) {
    ++withheld->young;
    return false;
  }
  // The API server evicts nobody who is under two.
  const std::vector<const kube::DisruptionBudget*> under = budgets.of(lodger);
  if (under.size() > 1 || (under.size() == 1 && under.front()->allowed <= 0)) {
    ++withheld->budgeted;
    return false;
  }
  return true;
}

void stake(const Lodger& lodger, const Budgets& budgets, const PreemptionTerms& terms,
           engine::Stakes* stakes) {
  engine::Stake stake{lodger.priority, ran(lodger, terms), lodger.group, ""};
  const std::vector<const kube::DisruptionBudget*> under = budgets.of(lodger);
  if (!under.empty()) {
    stake.budget = under.front()->meta.uid;
    stakes->budgets[stake.budget] = under.front()->allowed;
  }
  stakes->of[engine::RequestId(lodger.uid)] = std::move(stake);
}

Result<std::optional<PreemptionPlan>> planOn(const Premises& premises, const Claimant& claimant,
                                             const Lodgers& lodgers, const Budgets& budgets,
                                             const PreemptionTerms& terms, Withheld* withheld) {
  std::optional<PreemptionPlan> none;
  Site site(premises, claimant, lodgers, terms, true);
  const engine::Request request = requestOf(claimant);
  Chooser chooser(claimant, budgets, terms, withheld);
  if (site.made()) chooser.add(&site, lodgers);
  if (const Result<void> made = site.made(); !made) return made.error();
  const Result<engine::Decision> already = site.engine.decide(request);
  if (!already) return already.error();
  PreemptionPlan plan;
  plan.node = site.name;
  plan.cost.highest = std::numeric_limits<std::int64_t>::min();
  if (already->fits() && !site.full()) {
    // As it is, or as it will be.
    if (!site.going) return none;
    plan.placement = *already->placement;
    return std::optional(std::move(plan));
  }
  Result<std::optional<engine::Preemption>> found =
      already->fits() ? oneLess(site, chooser.stakes())
                      : site.engine.preempt(request, claimant.priority, chooser.stakes());
  withheld->tries += site.engine.tries();
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

Result<bool> fitsNow(const Premises& premises, const Claimant& claimant, const Lodgers& lodgers,
                     const PreemptionTerms& terms) {
  const Site site(premises, claimant, lodgers, terms, false);
  if (const Result<void> made = site.made(); !made) return made.error();
  const Result<engine::Decision> decision = site.engine.decide(requestOf(claimant));
  if (!decision) return decision.error();
  return decision->fits() && !site.full();
}

}  // namespace divvy::scheduler
