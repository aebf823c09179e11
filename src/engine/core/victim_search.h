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
  struct Found {
    Slot slot = 0;
    Units units;
    PreemptionCost cost;  // with the victims of `ended`
  };

  // `ended`: victims chosen earlier for other requests; they may still be booked, and their cost
  // counts. At most `most_sets` sets are tried over all nodes. Beyond that each node gets one set
  // in which every victim is needed; a cheaper set may exist.
  VictimSearch(Core& core, ShapeClass shape, const Victims& victims, Units ended,
               std::uint32_t most_sets);

  // Returns the cheapest victims; among equals the first slot wins. None: no set suffices.
  std::optional<Found> best(const std::vector<Slot>& slots);

 private:
  struct Here {
    const Unit* unit = nullptr;
    std::vector<const Placement*> placements;  // on the node under evaluation
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
