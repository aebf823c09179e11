// The answer to a request.
#pragma once

#include <optional>
#include <vector>

#include "engine/allocation.h"
#include "engine/refusal.h"

namespace divvy::engine {

struct Decision {
  std::optional<Placement> placement;  // none: it fits nowhere now
  // Refusals of all nodes that do not fit, in the nodes' order. Only if they were asked for.
  std::vector<NodeRefusal> refusals;

  bool fits() const { return placement.has_value(); }
};

}  // namespace divvy::engine
