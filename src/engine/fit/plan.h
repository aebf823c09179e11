// Requests of several containers: which devices for each, found by trying.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fit/fit.h"
#include "fit/search_budget.h"

namespace divvy::engine {

// What one request takes of one device at most at any time.
struct Taken {
  std::int64_t memory = 0;
  std::int32_t compute = 0;
  std::uint32_t slots = 0;
  // Of `memory`: contexts outside; with these, what is never swapped; the most of one that can be.
  std::int64_t outside = 0, stays = 0, largest = 0;
  std::uint32_t parts = 0, cpus = 0;
  std::uint32_t slices = 0;  // a bit each
  bool by_time = false;      // some of it not in parts
};
// What `ask` takes of a device of that node.
Taken takenBy(const Ask& ask, const HotState& state, std::uint32_t device);

struct Plan {
  std::vector<Picked> init, containers;     // as ShapeClass::init() and containers()
  std::vector<PartPick> init_parts, parts;  // likewise, of asks for parts; empty: there are none
  std::array<Taken, kMaxDevicesPerNode> taken{};
  unsigned met = 0;  // wishes that the devices of every container meet; see GroupRule::met
};

enum class PlanEnd : std::uint8_t {
  kPlaced,
  kNoWay,
  kGaveUp,  // after kTriesOfNode
  kPutOff,  // not searched: the budget of the decision was spent
};

struct Planned {
  std::optional<Plan> plan;  // of kPlaced only
  PlanEnd end = PlanEnd::kNoWay;
};

// The searches of one pass over nodes for one shape. Nodes that look the same to the shape are
// searched once.
struct SearchPass {
  explicit SearchPass(SearchBudget& of) : budget(of) {}
  SearchBudget& budget;
  std::unordered_map<std::string, Planned> found;  // by TrialNode::image
};

// Init containers one at a time, each with the node as it is and the sidecars before it; these and
// the others all together. If there is
// a way, one is found within kTriesOfNode, or else with the largest container first: the devices
// first that the shape's policy likes best, for each container in turn; for init containers those
// that the others get. kPutOff: ask again with another budget; every other answer depends on the
// node and the shape only.
Planned planOn(const HotState& state, const ShapeClass& shape, Slot slot, SearchPass& pass);

}  // namespace divvy::engine
