// Nodes that the vendor's own plugin serves: it hands out whole devices by the count's resource,
// and which of them nobody is told. So they are counted, by what pods ask for there. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "known_device.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/registration.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// In the name of each of their models: no other device is called so.
inline constexpr const char* kOwnPlugin = "(own plugin)";

// Likewise, where devices are registered whose agent the kubelet knows by the count's own resource
// only: HAMi's, or one of ours that was told so. Who asks by another name would begin without a
// device.
inline constexpr const char* kOneName = "(one name)";
// Whether that node's agent serves devices of the kind by others of its names, too.
bool servedByOtherNames(const kube::Node& node, const vendors::Kind& kind);

// As many as can be had of a node where such devices are not registered; empty: it is not served
// so. kCorrupt: which resource, what was expected.
Result<std::vector<kube::RegisteredDevice>> ownPluginDevices(const kube::Node& node,
                                                             const vendors::Kind& kind);

// Requests that name devices otherwise than by the plugin's resource would get none from it, nor
// from an agent that has no other name for them.
void keepFromOwnPlugins(const std::vector<const vendors::Kind*>& kinds, engine::Shape* shape);

// How many devices a pod has of the plugin of a kind, init containers included.
std::uint32_t ofOwnPlugin(const kube::Pod& pod, const vendors::Kind& kind);

}  // namespace divvy::scheduler
