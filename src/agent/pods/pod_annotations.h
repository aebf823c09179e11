// What a pod says of its shares beside what the scheduler gave it: the words of docs/pods.md that
// agents read. Pure. Private.
#pragma once

#include <string>

#include "agent/protocol.h"
#include "kube/pod.h"

namespace divvy::agent {

// Into `request`, for that container; what is said of it goes before what is said of all. Words
// that are not said change nothing. Where the scheduler wrote what it decided, only that is heard:
// users may annotate a bound pod. The webhook refuses what cannot be understood: here, of a pod
// that came past it, it is kUsage and names the annotation. kCorrupt: what was decided cannot be
// read. kUnsupported: not on such a node.
Result<void> applyAnnotations(const kube::Pod& pod, const std::string& container,
                              RunRequest* request);

}  // namespace divvy::agent
