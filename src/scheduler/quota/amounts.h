// Amounts of each device kind that a pod requests or holds, as quotas count them. Pure. Private.
#pragma once

#include <cstdint>
#include <map>

#include "annotations/device_metadata.h"
#include "base/bytes.h"
#include "engine/allocation.h"
#include "engine/request.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

struct Amount {
  Bytes memory;
  std::int64_t milli = 0;  // compute, in thousandths of a device
};
using Amounts = std::map<const vendors::Kind*, Amount>;

// Returns the minimum that the pod will hold on any node. Memory in percent, of whole devices and
// of instances does not count, because it depends on the node. Unreadable requests count as
// nothing.
Amounts leastAsked(const kube::Pod& pod, const vendors::Catalog& catalog);

// Returns true if the memory of the request depends on the devices of its placement.
bool dependsOnDevice(const engine::Shape& shape);

// Returns the maximum that the pod holds at any time, over all devices. `devices`: of the node;
// null: the node is unknown, and the annotations of `pod` have the kinds of the devices. `pod`:
// may be null if `devices` is not.
Amounts heldAmounts(const engine::Placement& placement, const DeviceMetadataMap* devices,
                    const kube::Pod* pod, const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
