// Kubernetes' objects in the engine's terms. Pure. Private.
#pragma once

#include <optional>

#include "annotations/device_metadata.h"
#include "base/result.h"
#include "codec/inventory_bounds.h"
#include "engine/allocation.h"
#include "engine/model.h"
#include "engine/request.h"
#include "kube/inventory.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

struct NodeDescription {
  engine::Node node;
  DeviceMetadataMap devices;
  std::vector<std::string> unread;  // preferences that were not understood, and do not count
  kube::Inventory registered;       // all that it registers
  std::optional<kube::Inventory> inventory;  // its annotation; none: nothing is recorded yet
  std::vector<std::string> surplus;          // registered beyond the inventory: does not count
};

// `elsewhere`: of UUIDs that its own inventory lacks (codec/inventory_bounds.h). kCorrupt: which
// annotation or resource, where in it, what was expected.
Result<NodeDescription> describe(const kube::Node& node, const vendors::Catalog& catalog,
                                 const RecordedElsewhere& elsewhere = {});

// Why that kind's devices get nobody new while a node's driver is changed; empty: it is not.
std::string upgradeOf(const kube::Node& node, const vendors::Kind& kind);

// A container names a resource of ours, whatever the amount.
bool asksForDevices(const kube::Pod& pod, const vendors::Catalog& catalog);

// None: it asks for no devices. `base`: which devices where it does not say. kUsage: which
// container and resource, or which annotation, what is accepted.
Result<std::optional<engine::Request>> requestOf(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const engine::DevicePolicy& base);

// What its annotations say that it holds; none: nothing, or it has ended. `devices`: of its node;
// null where that is not known.
Result<std::optional<engine::Allocation>> heldBy(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const DeviceMetadataMap* devices);

}  // namespace divvy::scheduler
