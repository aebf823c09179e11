// Sentences about the effects of changes of a cluster, without a full stop. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "console/cluster_change.h"
#include "kube/pod.h"
#include "kube/queue.h"

namespace divvy::cli {

// Effects of a change, and warnings to read before. No effects: it changes nothing.
struct ChangeEffects {
  std::vector<std::string> effects, warnings;
};

// Of a resize or a priority of a container.
ChangeEffects effectsOnShare(const kube::Pod& pod, const console::ClusterChange& change);

// The devices of a node that a cordon is about.
struct CordonedDevices {
  std::set<std::string> uuids;
  std::size_t pods = 0;  // pods that hold them now
};
ChangeEffects effectsOfCordon(const console::ClusterChange& change, const CordonedDevices& devices);

// Of an eviction. `owner`: "Deployment/web"; empty: none.
ChangeEffects effectsOfEviction(const kube::Pod& pod, const std::string& owner);

ChangeEffects effectsOnQueue(const kube::Queue& queue, const console::QueueTerms& terms);

}  // namespace divvy::cli
