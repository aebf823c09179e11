// The share annotations of a pod that agents read (docs/guides/pods.md). Pure. Private.
#pragma once

#include <string>

#include "agent/protocol.h"
#include "kube/pod.h"

namespace divvy::agent {

// Applies the annotations to `request`, for that container. An annotation of the container precedes
// that of the pod. An absent annotation changes nothing.
// If the scheduler wrote its decision, only that is read: users may annotate a bound pod. The
// webhook refuses annotations that are not valid. A pod that bypassed it fails here: kUsage names
// the annotation. kCorrupt: the decision cannot be decoded. kUnsupported: not on such a node.
Result<void> applyAnnotations(const kube::Pod& pod, const std::string& container,
                              RunRequest* request);

}  // namespace divvy::agent
