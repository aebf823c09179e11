// What a pod that is bound is given, as annotations. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "kube/object.h"

namespace divvy::scheduler {

// Ours: the pool that its devices were in; without it, in none.
inline constexpr const char* kAssignedPool = "divvy.dev/assigned-pool";
inline constexpr const char* kAssignedNode = "hami.io/vgpu-node";
inline constexpr const char* kAssignedTime = "hami.io/vgpu-time";  // seconds since 1970
inline constexpr const char* kBindPhase = "hami.io/bind-phase";
inline constexpr const char* kBindTime = "hami.io/bind-time";

// `devices`: of the node; `containers`: their names, init containers first. Beside the assignment
// of each kind, what its agent reads: templates as the kind's descriptor has them, and these forms
// (what is not is left out):
// - ascend: [{"UUID", "temp" (the template's name), "memory", "core"}]
// - metax: [[{"uuid", "compute", "vRam"}]], by container
// - enflame: {CONTAINER: {"allocated": false, "request", "profileID", "profileName"}}
// - neuron-ids: numbers of devices, or of cores where cores were asked for
// - neuron-resource: the resource of cores, where they were; else nothing
kube::Labels annotationsOf(const engine::Placement& placement, const DeviceMetadataMap& devices,
                           const std::vector<std::string>& containers, std::int64_t nanoseconds);

}  // namespace divvy::scheduler
