// A page of a list of pods as API servers write it in protobuf. Nothing but what pods are kept with
// is read of it: a field that is not carried here has no place in kube::Pod either. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/pod.h"

namespace divvy::kube {

struct PodListPage {
  std::string version, next;  // of the list; where it goes on, empty: there is no more
  std::vector<Pod> pods;
};

// Whether these are Kubernetes' protobuf at all; else they may be JSON.
bool isProtobuf(std::string_view bytes);
// Where the list goes on, by its first bytes. Empty: nowhere, or it cannot be read.
std::string podsGoOnAt(std::string_view bytes);
// What podOf reads of the same pods as JSON. kCorrupt: what of it is no list of pods; texts that
// are not UTF-8 are that, too, as JSON cannot have them.
Result<PodListPage> podPageOf(std::string_view bytes);

}  // namespace divvy::kube
