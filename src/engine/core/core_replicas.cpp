// Counts of requests that fit beside each other.
#include <algorithm>
#include <optional>

#include "core/core.h"
#include "engine/replicas.h"
#include "fit/plan.h"
#include "fit/trial_node.h"

namespace divvy::engine {

// Places replicas as the engine would, one after another, and takes them back. Nodes do not depend
// on each other, so the order of nodes does not matter.
class Engine::Core::ReplicaSearch {
 public:
  ReplicaSearch(Core& core, const Request& request, const ShapeClass& shape)
      : core_(core), request_(request), shape_(shape), pass_(core.budget_) {}

  // Nothing: the budget was spent.
  std::optional<std::uint32_t> on(Slot slot, const ReplicaTerms& terms) {
    std::vector<const Placement*> gone;
    if (terms.ended)
      for (const RequestId& id : core_.on_[slot])
        if (terms.ended(id)) gone.push_back(&core_.allocations_.at(id).allocation.placement);
    for (const Placement* one : gone) core_.state_.charge(slot, *one, -1);
    const std::optional<std::uint32_t> count = fitting(slot);
    for (const Placement* one : gone) core_.state_.charge(slot, *one, 1);
    return count;
  }

 private:
  // Each replica takes one share of one device, and devices do not depend on each other: the order
  // in which they are taken does not matter.
  bool byDevice() const {
    if (!shape_.simple() || !shape_.plain() || shape_.byDay() || shape_.containers().size() != 1 ||
        !shape_.shape().company.empty())
      return false;
    const DeviceDemand& demand = shape_.containers().front();
    return demand.count == 1 && !demand.mutex && !demand.keeps_off && demand.not_beside == 0;
  }

  // The same as fitting(), if byDevice(). Nothing: tenants share the node's host memory.
  std::optional<std::uint32_t> fittingByDevice(Slot slot) const {
    const HotState& state = core_.state_;
    if (refuseNode(state, shape_, slot)) return 0;
    TrialNode trial(state, shape_, slot);
    if (!trial.now.accounts.empty()) return std::nullopt;
    std::int64_t most = kMaxReplicasOfNode;
    if (shape_.cpu() > 0) most = std::min(most, state.node.cpu_free[slot] / shape_.cpu());
    if (shape_.memory() > 0) most = std::min(most, state.node.memory_free[slot] / shape_.memory());
    const DeviceDemand& demand = shape_.containers().front();
    std::int64_t count = 0;
    for (std::size_t device = 0; device < trial.devices(); ++device)
      for (; count < most && trial.fits(demand, device); ++count) trial.charge(demand, device);
    return static_cast<std::uint32_t>(count);
  }

  // Changes the node's arrays only. The change log gets no entry, because the change is taken back.
  std::optional<std::uint32_t> fitting(Slot slot) {
    if (by_device_)
      if (const std::optional<std::uint32_t> count = fittingByDevice(slot)) return count;
    std::vector<Placement> placed;
    bool known = true;
    while (placed.size() < kMaxReplicasOfNode) {
      const Scorer::KeyResult keyed = core_.scorer_.key(shape_, slot, pass_);
      if (keyed.key == 0) {
        known = keyed.end != PlanOutcome::kPutOff;
        break;
      }
      const std::uint64_t draw = core_.drawFor(request_, placed.size() + 1);
      placed.push_back(core_.scorer_.placement(shape_, slot, draw));
      core_.state_.charge(slot, placed.back(), 1);
    }
    std::for_each(placed.rbegin(), placed.rend(),
                  [&](const Placement& one) { core_.state_.charge(slot, one, -1); });
    if (!known) return std::nullopt;
    return static_cast<std::uint32_t>(placed.size());
  }

  Core& core_;
  const Request& request_;
  const ShapeClass& shape_;
  SearchPass pass_;
  const bool by_device_ = byDevice();
};

Result<ReplicaCount> ReplicaCounter::count(const Request& request,
                                           const ReplicaTerms& terms) const {
  Engine::Core& core = *engine_.core_->granted(kTriesOfDecision);
  const Result<Scores*> scores = core.upToDate(request);
  if (!scores) return scores.error();
  ReplicasCache::Counts& kept = (*scores)->replicas().of(terms.variant);
  Engine::Core::ReplicaSearch search(core, request, (*scores)->shape());
  ReplicaCount count;
  std::size_t left = terms.most_nodes;
  for (const Slot slot : core.order_.slots()) {
    std::optional<std::uint32_t> here = kept.at(slot);
    if (!here && !terms.ended && (*scores)->tree().at(core.order_.placeOf(slot)) == 0 &&
        (*scores)->endOf(slot) != PlanOutcome::kPutOff)
      here = 0;
    if (!here && left > 0) {
      --left;
      here = search.on(slot, terms);
      if (here) kept.set(slot, *here);
    }
    count.unknown_nodes += here ? 0 : 1;
    std::uint32_t fit = here.value_or(0);
    if (fit > 0 && terms.most_on)
      fit = std::min(fit, terms.most_on(core.state_.cold[slot].node.name));
    count.fit += fit;
    count.nodes_that_fit += fit > 0 ? 1 : 0;
  }
  return count;
}

}  // namespace divvy::engine
