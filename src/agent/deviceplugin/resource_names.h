// Resources by which the kubelet counts the node's devices. Several may count the same device.
// Pure. Private.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "device/inventory.h"

namespace divvy::agent {

struct ExtendedResource {
  std::string resource;
  std::vector<std::size_t> devices;  // positions in the inventory, ascending
  unsigned units = 1;                // device IDs for each device
  // Sockets of plugins for the same devices: while a plugin listens on one, we do not register.
  std::vector<std::string> rivals;
};

// The node's own resources first, then those of models and instances that it has. Excluded devices
// count in none.
// If one of the node's own resources is in NVIDIA's domain, its plugin is a rival of all resources.
// Otherwise it is a rival of the resources in that domain.
std::vector<ExtendedResource> countedNames(const ClusterNode& cluster,
                                           const std::vector<Device>& devices);

std::set<std::string> resourcesOf(const std::vector<ExtendedResource>& names);

}  // namespace divvy::agent
