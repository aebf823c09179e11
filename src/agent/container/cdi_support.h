// Whether a node's runtime reads CDI specs, by what it calls itself. Pure. Private.
#pragma once

#include <string>
#include <string_view>

namespace divvy::agent {

// `runtime`, `kubelet`: of the node's status.nodeInfo, "containerd://2.2.3" and "v1.34.4". Empty:
// it does; else why not, or why that is not known. Sources: containerd reads them from 2.0 on
// unless it is told not to, 1.7 only where it is told to, 1.6 never; CRI-O has the field of the CRI
// from 1.28 on; kubelets pass them on from 1.29 on.
std::string whyNoCdi(std::string_view runtime, std::string_view kubelet);

}  // namespace divvy::agent
