// Converts Kubernetes objects into the engine's types. Pure. Private.
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
  std::vector<std::string> unread;           // preferences that cannot be read and do not count
  kube::Inventory registered;                // everything that the node registers
  std::optional<kube::Inventory> inventory;  // its annotation; none: nothing is recorded
  std::vector<std::string> surplus;          // registered beyond the inventory; does not count
};

// Reads a node. `elsewhere`: finds UUIDs in inventories of other nodes (codec/inventory_bounds.h).
// kCorrupt: the message names annotation or resource, place and form.
Result<NodeDescription> describe(const kube::Node& node, const vendors::Catalog& catalog,
                                 const RecordedElsewhere& elsewhere = {});

// Returns why the devices of a kind accept no new shares during a driver upgrade of the node;
// empty: there is no upgrade.
std::string upgradeOf(const kube::Node& node, const vendors::Kind& kind);

// Returns true if a container names a resource of the catalog, with any amount.
bool asksForDevices(const kube::Pod& pod, const vendors::Catalog& catalog);

// Reads a pod's request. None: it requests no devices. `base`: device policy for pods without the
// annotation. kUsage: the message names the resource or annotation, and accepted values.
Result<std::optional<engine::Request>> requestOf(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const engine::DevicePolicy& base);

// Reads the allocation of a bound pod from its assignment, and from an admitted resize. None: it
// has none, is not bound or has ended. `devices`: of its node; null: the node is unknown. Errors:
// an annotation cannot be read.
Result<std::optional<engine::Allocation>> heldBy(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const DeviceMetadataMap* devices);

}  // namespace divvy::scheduler
