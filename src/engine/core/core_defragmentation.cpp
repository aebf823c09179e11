#include "core/core.h"
#include "core/defragmentation.h"

namespace divvy::engine {

Result<void> Engine::Core::checkMoves(const DefragmentationOptions& terms) const {
  for (const auto& [id, move] : terms.of) {
    if (move.work_lost < 0)
      return Error{ErrorCode::kUsage, "request " + id.text + ": loses " +
                                          std::to_string(move.work_lost) +
                                          " of work; accepted: 0 or more"};
    if (!move.shape) continue;
    if (const Result<void> checked = checkShape(*move.shape); !checked)
      return Error(checked.error()).context("request " + id.text);
  }
  if (terms.goal != DefragmentationGoal::kRoom) return {};
  if (const Result<void> checked = checkShape(terms.room); !checked)
    return Error(checked.error()).context("what room is made for");
  if (terms.times < 1) return Error{ErrorCode::kUsage, "room for 0 requests; accepted: 1 or more"};
  return {};
}

Result<DefragmentationPlan> Engine::Core::defragment(const DefragmentationOptions& terms) const {
  if (const Result<void> checked = checkMoves(terms); !checked) return checked.error();
  Layout layout{config_, fragments_.target(), pools_.all(), {}, allocations()};
  for (const Slot slot : order_.slots()) {
    const Node& node = state_.cold[slot].node;
    const auto said = described_.find(node.name);
    layout.nodes.push_back(said == described_.end() ? node : said->second);
  }
  MovableRequests movers{{}, &terms};
  std::vector<RequestId> unknown;
  for (const auto& [id, move] : terms.of) {
    const auto booked = allocations_.find(id);
    if (booked == allocations_.end()) continue;
    if (move.shape) {
      movers.requests[id] = {id, *move.shape, move.user};
    } else if (booked->second.asked) {
      movers.requests[id] = {id, booked->second.shape, move.user};
    } else {
      unknown.push_back(id);
    }
  }
  DefragmentationPlan plan = planMoves(layout, movers);
  plan.unknown = std::move(unknown);
  return plan;
}

}  // namespace divvy::engine
