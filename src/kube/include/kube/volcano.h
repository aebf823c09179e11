// What Volcano's scheduler reads of nodes that share their cards, and writes into pods. Source:
// volcano.sh/volcano 1.10.0, pkg/scheduler/api/devices/nvidia/vgpu; releases from 1.12 on read a
// sixth field of each device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/assignment.h"
#include "kube/pod.h"
#include "kube/registration.h"

namespace divvy::kube {

// Of nodes.
inline constexpr const char* kVolcanoRegister = "volcano.sh/node-vgpu-register";
inline constexpr const char* kVolcanoHandshake = "volcano.sh/node-vgpu-handshake";
// Set before a pod is bound, where Volcano is told to lock nodes, and waited for.
inline constexpr const char* kVolcanoLock = "hamivgpu";
// Of pods.
inline constexpr const char* kVolcanoAssigned = "volcano.sh/vgpu-ids-new";
// Of containers: cards, and of each MiB or percent, and percent of its compute.
inline constexpr const char* kVolcanoCount = "volcano.sh/vgpu-number";
inline constexpr const char* kVolcanoMemory = "volcano.sh/vgpu-memory";
inline constexpr const char* kVolcanoMemoryPercent = "volcano.sh/vgpu-memory-percentage";
inline constexpr const char* kVolcanoCores = "volcano.sh/vgpu-cores";

// "UUID,COUNT,MEMORY,TYPE,true,hami-core:" for each device that is healthy: Volcano reads of one
// that is not, and places on it all the same. Empty: there is none.
std::string encodeVolcano(const std::vector<RegisteredDevice>& devices);

// What its `text` gives the pod's containers, as if our scheduler had written it. Volcano's has
// only containers that ask, in their order, and no init containers; it writes 0 MiB where a
// container asks for less than 100 percent, which are percent of what is `offered` here. kCorrupt:
// where, what is wrong, what was expected.
Result<Assignment> volcanoAssignment(const Pod& pod, std::string_view text,
                                     const std::vector<RegisteredDevice>& offered);

}  // namespace divvy::kube
