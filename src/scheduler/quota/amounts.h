// How much of each kind of devices a pod asks for, and holds, as quotas count it. Pure. Private.
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

// What it will hold at least, wherever it goes: of percentages, whole devices and instances only
// the node knows how much memory that is. What cannot be read asks for nothing.
Amounts leastAsked(const kube::Pod& pod, const vendors::Catalog& catalog);

// On how much memory that is the placement decides.
bool dependsOnDevice(const engine::Shape& shape);

// Of all devices: the most at any time. `devices`: of its node; null where that is not known:
// then the pod's annotations say which kinds they are. `pod` may be null where it is.
Amounts heldAmounts(const engine::Placement& placement, const DeviceMetadataMap* devices,
                    const kube::Pod* pod, const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
