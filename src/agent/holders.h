// Cards that containers hold which another plugin gave them: of the one that served this node
// before, or of one that serves the same cards under another name. Pure. Private.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "inventory.h"
#include "kubelet/pod_resources.h"

namespace divvy::agent {

// By the card's index: "pod NAMESPACE/NAME".
using Holders = std::map<unsigned, std::string>;

// `held`: all that the kubelet says. `ours`: whether the scheduler gave that pod (namespace, name)
// what it has. A unit is a card by its UUID, alone or with "::N" (NVIDIA's plugin with
// time-slicing, ours) or "-N" (HAMi's) behind it; ours only of `resource`, with "::N", of such a
// pod.
Holders holdersOf(const std::vector<kubelet::HeldDevices>& held, const std::vector<Device>& cards,
                  const std::string& resource,
                  const std::function<bool(const std::string&, const std::string&)>& ours);

}  // namespace divvy::agent
