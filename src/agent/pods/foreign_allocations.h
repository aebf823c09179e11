// Cards of containers that another plugin served: a plugin that served this node before, or one
// that serves the same cards under another resource. Pure. Private.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/inventory.h"
#include "kubelet/pod_resources.h"

namespace divvy::agent {

// By the card's index: "pod NAMESPACE/NAME".
using Holders = std::map<unsigned, std::string>;

// Our own allocations of a pod (namespace, name).
struct ForeignAllocations {
  // Whether the scheduler that we serve assigned the pod's devices.
  std::function<bool(const std::string&, const std::string&)> given;
  // Whether one of our tenants has exactly these device IDs, under any resource.
  std::function<bool(const kubelet::PodDevices&)> lodged;
  // UUIDs of cards on which the pod's containers have shares.
  std::function<std::set<std::string>(const std::string&, const std::string&)> cards;
  // UUIDs of cards in the assignment of any scheduler; empty: none.
  std::function<std::set<std::string>(const std::string&, const std::string&)> assigned;
};

// Returns the holders of cards. `held`: all entries of PodResources.
// A device ID names a card by UUID, alone, or followed by "::N" (NVIDIA's plugin with time-slicing,
// and ours) or "-N" (HAMi's).
// IDs of ours only count. A pod with IDs of ours under another resource, or from another
// scheduler, holds the cards of its shares. HAMi's IDs also only count: the pod holds the cards of
// its assignment, if it has one.
// An ID is ours only with "::N", for a pod that our scheduler placed, and under one of `resources`
// or a resource that we served before.
Holders holdersOf(const std::vector<kubelet::PodDevices>& held, const std::vector<Device>& cards,
                  const std::set<std::string>& resources, const ForeignAllocations& ours);

}  // namespace divvy::agent
