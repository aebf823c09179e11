// Annotations of a node that name some of its devices: UUIDs with commas between them. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace divvy::kube {

// Devices on which nothing more fits, and whose units the kubelet is, or soon will be, told not to
// offer: nobody is to be bound to one until the node's agent, which writes it, names it no more.
inline constexpr const char* kFullKey = "divvy.dev/full";
// Likewise a list: of the resources by which its agent has the kubelet give its devices. Others may
// serve other devices of the node by other ones.
inline constexpr const char* kServedKey = "divvy.dev/served";

// Likewise: of the resources that the node's status has amounts of by its agent. What an agent no
// longer announces goes from the status first, and from here then.
inline constexpr const char* kAnnouncedKey = "divvy.dev/announced";

// Ascending; empty for none.
std::string encodeDevices(const std::set<std::string>& uuids);
// As people write it, too: blanks and empty items say nothing.
std::set<std::string> decodeDevices(std::string_view text);

}  // namespace divvy::kube
