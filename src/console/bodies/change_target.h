// The objects of changes in the view of a viewer. Pure.
#pragma once

#include "console/cluster_change.h"
#include "view/console_view.h"

namespace divvy::console {

// Returns whether the view has the object of the change. Adds the use of its share, if known.
bool findTarget(const ConsoleView& view, ClusterChange* change);

// Returns the object's name: "lab/p/main", "gpu-1/GPU-0", "research".
std::string nameOf(const ClusterChangeTarget& target);

}  // namespace divvy::console
