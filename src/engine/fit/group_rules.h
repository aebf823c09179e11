// The rules that hold for the devices of a container.
#pragma once

#include "fit/group.h"
#include "nodes/hot_state.h"
#include "nodes/shape_class.h"

namespace divvy::engine {

// For an ask of that shape on that node. Requires groupedOn(...). Keeps references to `state`.
Groups groupsFor(const HotState& state, const ShapeClass& shape, Slot slot);

}  // namespace divvy::engine
