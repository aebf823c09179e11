// Placement of requests with several containers: devices for each container, found by trial.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fit/fit.h"
#include "fit/search_budget.h"

namespace divvy::engine {

// The most that one request takes of one device at any time.
struct PeakUse {
  std::int64_t memory = 0;
  std::int32_t compute = 0;
  std::uint32_t slots = 0;
  // Parts of `memory`: contexts outside; these and memory that is never swapped; the largest
  // swappable share.
  std::int64_t outside = 0, stays = 0, largest = 0;
  std::uint32_t parts = 0, cpus = 0;
  std::uint32_t slices = 0;  // bit set
  bool by_time = false;      // some of it is not a partition
};
// Returns what `demand` takes of a device of that node.
PeakUse peakUseOf(const DeviceDemand& demand, const HotState& state, std::uint32_t device);

struct Plan {
  std::vector<ChosenDevices> init, containers;  // as ShapeClass::init() and containers()
  // as `init` and `containers`, for asks for partitions; empty: there are none
  std::vector<PartPick> init_parts, parts;
  std::array<PeakUse, kMaxDevicesPerNode> peak_use{};
  unsigned met = 0;  // preferences that the devices of every container meet; see GroupRule::met
};

enum class PlanOutcome : std::uint8_t {
  kPlaced,
  kNoWay,
  kGaveUp,  // after kTriesOfNode
  kPutOff,  // not searched: the budget of the decision was spent
};

struct PlanResult {
  std::optional<Plan> plan;  // of kPlaced only
  PlanOutcome end = PlanOutcome::kNoWay;
};

// The searches of one pass over the nodes for one shape. Nodes with equal images are searched once.
struct SearchPass {
  explicit SearchPass(SearchBudget& of) : budget(of) {}
  SearchBudget& budget;
  std::unordered_map<std::string, PlanResult> found;  // by TrialNode::image
};

// Places init containers one at a time, each with the sidecars before it, and the other containers
// together. Finds a way if there is one within kTriesOfNode, or if placing the largest container
// first finds it. Devices are tried in the order of the shape's policy; init containers try the
// devices of the others first. kPutOff: the caller must repeat the query with another budget. Every
// other answer depends on the node and the shape only.
PlanResult planOn(const HotState& state, const ShapeClass& shape, Slot slot, SearchPass& pass);

}  // namespace divvy::engine
