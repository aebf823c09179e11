// Victims for one request: a node is evaluated without some of its tenants and restored.
#pragma once

#include "core/core.h"
#include "core/victims.h"
#include "fit/fit.h"
#include "fit/plan.h"

namespace divvy::engine {

// Keeps references to `core` and `victims`, which must outlive it.
class Engine::Core::VictimSearch {
 public:
  struct VictimChoice {
    Slot slot = 0;
    EvictionUnits units;
    PreemptionCost cost;  // with the victims of `ended`
  };

  // `ended`: victims chosen earlier for other requests; they may still be booked, and their cost
  // counts. At most `most_sets` sets are tried over all nodes. Beyond that each node gets one set
  // in which every victim is needed; a cheaper set may exist.
  VictimSearch(Core& core, ShapeClass shape, const Victims& victims, EvictionUnits ended,
               std::uint32_t most_sets);

  // Returns the cheapest victims; among equals the first slot wins. None: no set suffices.
  std::optional<VictimChoice> best(const std::vector<Slot>& slots);

 private:
  struct UnitOnNode {
    const EvictionUnit* unit = nullptr;
    std::vector<const Placement*> placements;  // on the node under evaluation
  };

  std::vector<UnitOnNode> unitsOn(Slot slot) const;
  PreemptionCost costOf(const EvictionUnits& units) const;
  bool fits(Slot slot) {
    core_.budget_.spend(1);
    SearchPass pass(core_.budget_);
    return !refusalOf(core_.state_, shape_, slot, pass);
  }
  bool over() const { return core_.budget_.spent(); }
  void charge(Slot slot, const UnitOnNode& here, int sign);
  bool better(const EvictionUnits& chosen) const { return !best_ || costOf(chosen) < best_->cost; }
  void explore(Slot slot, const std::vector<UnitOnNode>& units, std::size_t left,
               EvictionUnits* chosen);
  EvictionUnits needed(Slot slot, const std::vector<UnitOnNode>& units);
  void evaluate(Slot slot);

  Core& core_;
  ShapeClass shape_;
  const Victims& victims_;
  const EvictionUnits ended_;
  const std::uint32_t most_sets_;
  std::optional<VictimChoice> best_;
  std::uint32_t sets_ = 0;
};

}  // namespace divvy::engine
