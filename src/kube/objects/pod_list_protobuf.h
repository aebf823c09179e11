// Reads a page of a list of pods in protobuf, as API servers write it. It reads only the fields
// that kube::Pod has; a new member of kube::Pod needs its field here. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/pod.h"

namespace divvy::kube {

struct PodListPage {
  // Version of the list; token of the next page, empty for the last one.
  std::string version, next;
  std::vector<Pod> pods;
};

// Returns whether the bytes begin as Kubernetes' protobuf does; otherwise they may be JSON.
bool isProtobuf(std::string_view bytes);
// Returns the token of the next page from the first bytes. Empty: no next page, or not readable.
std::string podsGoOnAt(std::string_view bytes);
// Reads the same pods as podOf() reads from JSON. kCorrupt: not a list of pods, or a string that is
// not UTF-8, which JSON could not hold.
Result<PodListPage> podPageOf(std::string_view bytes);

}  // namespace divvy::kube
