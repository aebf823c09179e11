// Names by which the kubelet counts the node's devices: one device may be counted by several, and
// is one device. Pure. Private.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_node.h"
#include "inventory.h"

namespace divvy::agent {

struct CountedName {
  std::string resource;
  std::vector<std::size_t> devices;  // places in the inventory's list, ascending
  unsigned units = 1;                // that each of them counts for
  // Sockets of plugins that serve the same devices: while one is listened to, we do not register.
  std::vector<std::string> rivals;
  // What containers have by this name is called as if there were no other one.
  bool first = false;

  // What tenantIdFor() is to be told.
  std::string salt() const { return first ? std::string() : resource; }
};

// The node's own names first, then those of models and of instances that it has some of. Excluded
// devices count by none. Where one of the node's names is NVIDIA's own, or one that NVIDIA's plugin
// gives instances, its plugin is a rival for all names.
std::vector<CountedName> countedNames(const ClusterNode& cluster,
                                      const std::vector<Device>& devices);

// "3g.40gb", as names of resources have it; empty: no instance.
std::string profileOf(const driver::DeviceInfo& device);

std::set<std::string> resourcesOf(const std::vector<CountedName>& names);

}  // namespace divvy::agent
