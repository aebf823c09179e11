// Annotations of a node with lists of devices or resources, separated by commas. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace divvy::kube {

// UUIDs of full devices. The node's agent writes the list, and withdraws their device IDs from the
// kubelet now or soon. No pod is to be bound to such a device until the agent removes it.
inline constexpr const char* kFullDevicesKey = "divvy.dev/full-devices";
// Resources that the agent's device plugin serves. Other plugins may serve other devices of the
// node by other resources.
inline constexpr const char* kServedResourcesKey = "divvy.dev/served-resources";

// Resources that the agent announces in the node's status. A resource that it no longer announces
// is removed from the status first, and from this list afterwards.
inline constexpr const char* kAnnouncedResourcesKey = "divvy.dev/announced-resources";

// Returns the UUIDs ascending, separated by commas; empty for none.
std::string encodeDevices(const std::set<std::string>& uuids);
// Reads a list, also as people write it: blanks, tabs and empty items are ignored.
std::set<std::string> decodeDevices(std::string_view text);

}  // namespace divvy::kube
