// Requests that start together or not at all, as near to each other as can be.
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
  // Keys of labels that say where a node is, the widest first: rack, switch. Nodes with the same
  // values of a key and of all wider ones are together; nodes without one are with nobody.
  std::vector<std::string> levels;
  // Place in `levels`: all members have to be together there. None: as near as can be.
  std::optional<std::size_t> required;
};

struct GangPlacement {
  std::vector<Allocation> members;  // as Gang::members
  // The narrowest level at which all are together, and its values from the widest on; empty: they
  // are together nowhere.
  std::vector<std::string> where;
};

}  // namespace divvy::engine
