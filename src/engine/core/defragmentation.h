// Plans of moves, made on copies of the layout.
#pragma once

#include "core/layout_sandbox.h"

namespace divvy::engine {

// Requests that may move. All others stay. `terms` is not owned.
struct MovableRequests {
  std::map<RequestId, Request> requests;  // all others stay
  const DefragmentationOptions* terms = nullptr;
};

// Returns at most `most_moves` moves, in an order in which each of them has room.
DefragmentationPlan planMoves(const Layout& layout, const MovableRequests& movers);

}  // namespace divvy::engine
