// Kubernetes' objects in the engine's terms, and back. Pure. Private.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/allocation.h"
#include "engine/model.h"
#include "engine/request.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// By UUID: what a device is called in annotations.
using Kinds = std::map<std::string, std::string>;

struct DescribedNode {
  engine::Node node;
  Kinds kinds;
};

// kCorrupt: which annotation, where in it, what was expected.
Result<DescribedNode> describe(const kube::Node& node);

// A container names a resource of ours, whatever the amount.
bool asksForDevices(const kube::Pod& pod, const vendors::Catalog& catalog);

// None: it asks for no devices. kUsage: which container and resource, what is accepted.
Result<std::optional<engine::Request>> requestOf(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog);

// What its annotations say that it holds; none: nothing, or it has ended.
Result<std::optional<engine::Allocation>> heldBy(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog);

// What a pod that goes there is given, as annotations. `seconds` since 1970.
kube::Labels annotationsOf(const engine::Placement& placement, const Kinds& kinds,
                           std::int64_t seconds);

}  // namespace divvy::scheduler
