// Cards that containers hold which another plugin gave them: of the one that served this node
// before, or of one that serves the same cards under another name. Pure. Private.
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

// What is ours of a pod (namespace, name).
struct ForeignAllocations {
  // The scheduler that we serve now gave it what it has.
  std::function<bool(const std::string&, const std::string&)> given;
  // A share of that container's by just these units is ours, whatever names we serve now.
  std::function<bool(const kubelet::PodDevices&)> lodged;
  // UUIDs of cards that its containers have shares of.
  std::function<std::set<std::string>(const std::string&, const std::string&)> cards;
  // UUIDs of cards that its scheduler says it has, whoever that is; empty: it says nothing.
  std::function<std::set<std::string>(const std::string&, const std::string&)> assigned;
};

// `held`: all that the kubelet says. Who has shares of ours by another name, or of another
// scheduler, holds the cards that these are of: units only count. A unit is a card by its UUID,
// alone or with "::N" (NVIDIA's plugin with time-slicing, ours) or "-N" (HAMi's) behind it. HAMi's
// only count, too: what its plugin gave is what the pod was assigned, where it says so. Ours only
// of one of `resources`, or of one that we served before, with "::N", of such a pod.
Holders holdersOf(const std::vector<kubelet::PodDevices>& held, const std::vector<Device>& cards,
                  const std::set<std::string>& resources, const ForeignAllocations& ours);

}  // namespace divvy::agent
