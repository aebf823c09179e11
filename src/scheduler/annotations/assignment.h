// The assignment of a bound pod, as annotations. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "kube/object.h"

namespace divvy::scheduler {

// Divvy's own: the pool of the devices; absent: they are in no pool.
inline constexpr const char* kAssignedPool = "divvy.dev/assigned-pool";
inline constexpr const char* kAssignedNode = "hami.io/vgpu-node";
inline constexpr const char* kAssignedTime = "hami.io/vgpu-time";  // seconds since 1970
inline constexpr const char* kBindPhase = "hami.io/bind-phase";
inline constexpr const char* kBindTime = "hami.io/bind-time";

// Returns the annotations of a placement. `devices`: of the node; `containers`: names, init
// containers first; `nanoseconds`: since 1970. Beside the assignment of each kind they have texts
// for its agent: those of the kind's descriptor, and these forms (absent values are left out):
// - ascend: [{"UUID", "temp" (the template's name), "memory", "core"}]
// - metax: [[{"uuid", "compute", "vRam"}]], by container
// - enflame: {CONTAINER: {"allocated": false, "request", "profileID", "profileName"}}
// - neuron-ids: numbers of devices, or of cores if the pod requested cores
// - neuron-resource: the resource of cores if the pod requested cores; else nothing
kube::Labels annotationsOf(const engine::Placement& placement, const DeviceMetadataMap& devices,
                           const std::vector<std::string>& containers, std::int64_t nanoseconds);

}  // namespace divvy::scheduler
