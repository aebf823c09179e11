// Devices of a node on which nothing more fits, and whose units its kubelet is, or soon will be,
// told not to offer: nobody is to be bound to one until its agent says that it is none any more. An
// annotation of the node, written by its agent: UUIDs, ascending, with commas between them. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace divvy::kube {

inline constexpr const char* kFullKey = "divvy.dev/full";

std::string encodeFull(const std::set<std::string>& uuids);
std::set<std::string> decodeFull(std::string_view text);

}  // namespace divvy::kube
