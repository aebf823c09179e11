// How hardware hands devices out where several are: whole blocks, neighbours in a row.
#pragma once

#include "fit/group.h"
#include "nodes/hot_state.h"
#include "nodes/shape_class.h"

namespace divvy::engine {

// Some device of the node is of a block or in a row.
bool arranged(const Node& node);
// Adds the rules for its devices; they outlive nothing of `node`.
void addArrangement(const Node& node, Groups::Rules* rules);

// Whether devices are chosen as groups there: for the shape's policy, or for what the node is.
bool groupedOn(const HotState& state, const ShapeClass& shape, Slot slot);

}  // namespace divvy::engine
