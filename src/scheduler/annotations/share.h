// Converts shares between the engine's type and the assignment's. Pure. Private.
#pragma once

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "kube/assignment.h"

namespace divvy::scheduler {

// Converts an engine's share of `device`.
kube::AssignedDevice assignedOf(const engine::Share& share, const DeviceMetadata& device);

// Converts an assignment's share. `device`: null if the node is unknown or no longer has the
// device; the kind's values apply then. `soft`: the pod requested a share of a kind that otherwise
// has templates.
engine::Share shareOf(const kube::AssignedDevice& assigned, const vendors::Kind& kind,
                      const DeviceMetadata* device, bool soft);

}  // namespace divvy::scheduler
