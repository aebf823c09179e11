// Who has to end for one request: what a node would be without some of those on it is tried and
// put back.
#pragma once

#include "core/core.h"
#include "core/victims.h"
#include "fit/fit.h"
#include "fit/plan.h"

namespace divvy::engine {

class Engine::Core::VictimSearch {
 public:
  struct Found {
    Slot slot = 0;
    Units units;
    PreemptionCost cost;  // with those who have ended before
  };

  // `ended`: have, for others, and may be on the books still; they cost together with these. Sets
  // that are tried on all nodes together are at most `most_sets`; beyond, on each node one of which
  // everybody is needed is found, and there may be a cheaper one.
  VictimSearch(Core& core, ShapeClass shape, const Victims& victims, Units ended,
               std::uint32_t most_sets);

  // Of equals on the first of the slots.
  std::optional<Found> best(const std::vector<Slot>& slots);

 private:
  struct Here {
    const Unit* unit = nullptr;
    std::vector<const Placement*> placements;  // on the node that is looked at
  };

  std::vector<Here> unitsOn(Slot slot) const;
  PreemptionCost costOf(const Units& units) const;
  bool fits(Slot slot) {
    core_.budget_.spend(1);
    SearchPass pass(core_.budget_);
    return !refusalOf(core_.state_, shape_, slot, pass);
  }
  bool over() const { return core_.budget_.spent(); }
  void charge(Slot slot, const Here& here, int sign);
  bool better(const Units& chosen) const { return !best_ || costOf(chosen) < best_->cost; }
  void explore(Slot slot, const std::vector<Here>& units, std::size_t left, Units* chosen);
  Units needed(Slot slot, const std::vector<Here>& units);
  void look(Slot slot);

  Core& core_;
  ShapeClass shape_;
  const Victims& victims_;
  const Units ended_;
  const std::uint32_t most_sets_;
  std::optional<Found> best_;
  std::uint32_t sets_ = 0;
};

}  // namespace divvy::engine
