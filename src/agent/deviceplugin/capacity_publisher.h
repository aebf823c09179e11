// Decides which devices the node publishes as full, and which device IDs the kubelet must not
// offer. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/cluster_node.h"
#include "device/inventory.h"
#include "deviceplugin/capacity_check.h"
#include "deviceplugin/full_device_debouncer.h"
#include "deviceplugin/pod_tracker.h"
#include "deviceplugin/resource_names.h"
#include "node_object/node_publisher.h"
#include "pods/kubelet_allocations.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Only on the loop's thread.
class CapacityPublisher {
 public:
  // Its references outlive this object.
  struct Inputs {
    const ClusterNode& cluster;
    const std::vector<ExtendedResource>& resources;
    const Inventory& inventory;
    const TenantManager& tenants;
    const PodTracker& pods;
    const NodePublisher& node;
    KubeletAllocations& kubelet;
  };
  explicit CapacityPublisher(const Inputs& inputs) : inputs_(inputs) {}

  // The change by updateFull().
  enum class Change : std::uint8_t {
    kNone,
    kFull,      // full()
    kWithheld,  // offers(), and perhaps full()
  };
  // Looks for devices that became full or have room again. Does nothing until the Node object and
  // the list of pods are known; with a single resource, because the kubelet counts its allocations
  // itself; and in Volcano's dialect, because its scheduler does not wait for device IDs.
  Change updateFull();
  // Recomputes which device IDs are withheld, and which are held by pods. Call when devices became
  // available or unavailable.
  void updateWithheld();

  // UUIDs that the node shall publish as full.
  const std::set<std::string>& full() const { return full_.closed(); }
  // Whether the kubelet may offer this device ID of the device with this index. A pod keeps an ID
  // of a device that another pod or process took, because a restarted kubelet rejects pods with
  // unhealthy IDs.
  bool offers(const std::string& resource, const std::string& id, unsigned device) const;

 private:
  using Ids = std::set<std::pair<std::string, std::string>>;  // resource and device ID
  bool good(const Device& device) const { return inputs_.tenants.health().good(device.info.index); }
  DeviceAllocations allocations() const;
  // Device IDs of pods that have not ended. Nothing: the kubelet's checkpoint cannot be read.
  std::optional<Ids> heldIds() const;
  std::set<std::string> withheldOf(const ExtendedResource& resource,
                                   const DeviceAllocations& allocations) const;

  const Inputs inputs_;
  FullDeviceDebouncer full_;
  std::map<std::string, std::set<std::string>> withheld_;  // device IDs, by resource
  Ids held_;  // filled while a device is full or unavailable
};

}  // namespace divvy::agent
