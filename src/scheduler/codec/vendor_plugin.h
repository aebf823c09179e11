// Nodes that the vendor's own plugin serves: it hands out whole devices by the count's resource,
// and which of them nobody is told. So they are counted, by what pods ask for there. Pure. Private.
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

// In the name of each of their models: no other device is called so.
inline constexpr const char* kVendorPlugin = "(own plugin)";

// Likewise, where the kubelet knows devices by other resources than that one: HAMi's agent serves
// the count's own only, and ours what it was told. Who asks by it would begin without a device.
std::string notServedBy(const std::string& resource);
bool isNotServedBy(const std::string& model);
// In the model of a registered device: by which of the resources that count it the node's kubelet
// does not give it. `profile`: of an instance that is asked for whole. Empty where nothing is
// served: nobody says then what the kubelet knows.
std::string missingNames(const kube::Node& node, const vendors::Kind& kind,
                         const std::string& model, const std::string& profile);

// As many as can be had of a node where such devices are not registered; empty: it is not served
// so. kCorrupt: which resource, what was expected.
Result<std::vector<kube::RegisteredDevice>> ownPluginDevices(const kube::Node& node,
                                                             const vendors::Kind& kind);

// Those who ask by another name than a plugin's, or an agent's, get none there.
void keepFromOtherNames(const vendors::Ask& ask, engine::Shape* shape);

// How many devices a pod has of the plugin of a kind, init containers included.
std::uint32_t ofOwnPlugin(const kube::Pod& pod, const vendors::Kind& kind);

}  // namespace divvy::scheduler
