// Names by which the kubelet counts the node's devices: one device may be counted by several, and
// is one device. Pure. Private.
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
  std::vector<std::size_t> devices;  // places in the inventory's list, ascending
  unsigned units = 1;                // that each of them counts for
  // Sockets of plugins that serve the same devices: while one is listened to, we do not register.
  std::vector<std::string> rivals;
};

// The node's own names first, then those of models and of instances that it has some of. Excluded
// devices count by none. Where one of the node's own names is of NVIDIA's domain its plugin is a
// rival for all of them, else for the names that it gives instances.
std::vector<ExtendedResource> countedNames(const ClusterNode& cluster,
                                           const std::vector<Device>& devices);

std::set<std::string> resourcesOf(const std::vector<ExtendedResource>& names);

}  // namespace divvy::agent
