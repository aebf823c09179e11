// Requests that start together or not at all, as near to each other as possible.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/allocation.h"
#include "engine/request.h"

namespace divvy::engine {

struct Gang {
  std::vector<Request> members;
  // Label keys that state where a node is, the widest first: rack, switch. Nodes with equal values
  // of a key and of all wider keys are together. A node without a label is with no other node.
  std::vector<std::string> levels;
  // Index in `levels` at which all members must be together. None: as near as possible.
  std::optional<std::size_t> required;
};

struct GangPlacement {
  std::vector<Allocation> members;  // in the order of Gang::members
  // The values of the narrowest level at which all are together, from the widest level on. Empty:
  // they are together at no level.
  std::vector<std::string> where;
};

}  // namespace divvy::engine
