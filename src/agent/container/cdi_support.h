// Whether a node's runtime reads CDI specs, by its name and version. Pure. Private.
#pragma once

#include <string>
#include <string_view>

namespace divvy::agent {

// `runtime`, `kubelet`: from the node's status.nodeInfo, "containerd://2.2.3" and "v1.34.4".
// Returns why CDI is not supported, or why that is unknown; empty: it is supported.
// Sources: containerd reads specs from 2.0 on unless disabled, 1.7 only if enabled, 1.6 never;
// CRI-O has the CRI's field from 1.28 on; kubelets pass it on from 1.29 on.
std::string whyNoCdi(std::string_view runtime, std::string_view kubelet);

}  // namespace divvy::agent
