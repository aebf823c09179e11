// Plans of moves, made on copies of who is where.
#pragma once

#include "core/layout_sandbox.h"

namespace divvy::engine {

// What is known of who may move.
struct Movers {
  std::map<RequestId, Request> requests;  // all others stay
  const DefragmentationTerms* terms = nullptr;
};

DefragmentationPlan planMoves(const Layout& layout, const Movers& movers);

}  // namespace divvy::engine
