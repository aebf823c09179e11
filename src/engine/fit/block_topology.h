// Rules for devices that hardware gives out in whole blocks or in runs of neighbours.
#pragma once

#include "fit/group.h"
#include "nodes/hot_state.h"
#include "nodes/shape_class.h"

namespace divvy::engine {

// Adds the rules for the node's devices. They keep a reference to `node`, which must outlive them.
void addArrangement(const Node& node, Groups::Rules* rules);

// Returns true if devices there are chosen as groups, because of the shape's policy or of the node.
bool groupedOn(const HotState& state, const ShapeClass& shape, Slot slot);

}  // namespace divvy::engine
