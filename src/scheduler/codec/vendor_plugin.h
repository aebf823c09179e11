// Nodes that the vendor plugin serves. It hands out whole devices by the resource that counts them,
// and does not publish which. So the scheduler counts devices, by the requests of pods there. Pure.
// Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotations/device_metadata.h"
#include "base/result.h"
#include "engine/request.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/registration.h"
#include "vendors/ask.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Part of the model name of each device that a vendor plugin serves, and of no other device.
inline constexpr const char* kVendorPlugin = "(own plugin)";

// Returns the part of a model name for devices that the kubelet does not offer by `resource`.
// HAMi's agent serves only the resource that counts devices, and Divvy's agent the configured ones.
// A pod that requests another resource would start without a device.
std::string notServedBy(const std::string& resource);
// Returns true for a result of notServedBy().
bool isNotServedBy(const std::string& model);
// Returns notServedBy(), each after a space, for all resources that count a registered device and
// that the node's kubelet does not offer. `profile`: of an instance that is requested as a whole.
// Empty if the kubelet offers none of them, as the resources that the node serves are then unknown.
std::string missingNames(const kube::Node& node, const vendors::Kind& kind,
                         const std::string& model, const std::string& profile);

// Returns the devices of a node that a vendor plugin serves, by its allocatable count; empty: it
// serves none, or an agent registers them. kCorrupt names resource and expected form.
Result<std::vector<kube::RegisteredDevice>> ownPluginDevices(const kube::Node& node,
                                                             const vendors::Kind& kind);

// Excludes from `shape` devices that the kubelet does not offer by the resource of the request.
void keepFromOtherNames(const vendors::KindRequest& ask, engine::Shape* shape);

// Returns the maximum number of devices that the pod requests at any time of the vendor plugin of a
// kind, init containers included.
std::uint32_t ofOwnPlugin(const kube::Pod& pod, const vendors::Kind& kind);

}  // namespace divvy::scheduler
