// A share in the engine's terms, and as an assignment says it. Pure. Private.
#pragma once

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "kube/assignment.h"

namespace divvy::scheduler {

// Of `device`, whatever the share calls it.
kube::AssignedDevice assignedOf(const engine::Share& share, const DeviceMetadata& device);

// `device`: null where the node is not known, or has no such device any more; then what the kind
// says counts. `soft`: the pod asked for shares where else there are templates.
engine::Share shareOf(const kube::AssignedDevice& assigned, const vendors::Kind& kind,
                      const DeviceMetadata* device, bool soft);

}  // namespace divvy::scheduler
