// Counts of requests that fit beside each other.
#include <algorithm>
#include <optional>

#include "core/core.h"
#include "engine/replicas.h"
#include "fit/plan.h"

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
  // Changes the node's arrays only. The change log gets no entry, because the change is taken back.
  std::optional<std::uint32_t> fitting(Slot slot) {
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
