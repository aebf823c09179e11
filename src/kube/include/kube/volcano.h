// Annotations and resources of Volcano's scheduler for nodes with shared devices. Source:
// volcano.sh/volcano 1.10.0, pkg/scheduler/api/devices/nvidia/vgpu. Releases from 1.12 on read a
// sixth field of each device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/assignment.h"
#include "kube/pod.h"
#include "kube/registration.h"

namespace divvy::kube {

// Annotations of nodes.
inline constexpr const char* kVolcanoRegister = "volcano.sh/node-vgpu-register";
inline constexpr const char* kVolcanoHandshake = "volcano.sh/node-vgpu-handshake";
// Name of the node lock. If Volcano is configured to lock nodes, it takes the lock before it binds
// a pod, and other pods wait for it.
inline constexpr const char* kVolcanoLock = "hamivgpu";
// Annotation of pods.
inline constexpr const char* kVolcanoAssigned = "volcano.sh/vgpu-ids-new";
// Resources of containers: number of devices, and for each of them memory in MiB or percent, and
// compute in percent.
inline constexpr const char* kVolcanoCount = "volcano.sh/vgpu-number";
inline constexpr const char* kVolcanoMemory = "volcano.sh/vgpu-memory";
inline constexpr const char* kVolcanoMemoryPercent = "volcano.sh/vgpu-memory-percentage";
inline constexpr const char* kVolcanoCores = "volcano.sh/vgpu-cores";

// Returns "UUID,COUNT,MEMORY,TYPE,true,hami-core:" for each healthy device; empty if there is none.
// Unhealthy devices are left out, because Volcano would place pods on them.
std::string encodeVolcano(const std::vector<RegisteredDevice>& devices);

// Returns the assignment in Volcano's annotation `text`, in the form of our scheduler. Volcano's
// text has no init containers, and only containers that ask for devices, in their order. It has 0
// MiB for a container that asks for less than 100 percent; the amount is then that percentage of
// the memory in `offered`. kCorrupt names place, fault and expected form.
Result<Assignment> volcanoAssignment(const Pod& pod, std::string_view text,
                                     const std::vector<RegisteredDevice>& offered);

}  // namespace divvy::kube
