// DeviceClasses for an extended resource. If a pod asks for such a resource, kube-scheduler (by
// default from 1.36 on) refuses nodes that lack another extended resource of the pod. Source:
// KEP-5004, plugin DynamicResources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/cluster_facts.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {

// Returns the cluster's classes; empty if the kind is not served. Error: they may not be listed.
Result<std::vector<doctor::MappedClass>> mappedClasses(KubeApi& api);

// Returns a warning for the pod's owner; empty: no node is refused. Pure.
std::string hazardText(const std::vector<doctor::MappedClass>& classes, const kube::Pod& pod,
                       const std::vector<kube::Node>& nodes);

// As hazardText(), for many pods of one cluster. Lists classes once, and nodes only if a class
// matters.
class DeviceClassHazards {
 public:
  explicit DeviceClassHazards(KubeApi& api) : api_(api) {}
  // Returns nothing also if the caller may not list classes or nodes.
  std::string of(const kube::Pod& pod);

 private:
  KubeApi& api_;
  std::optional<std::vector<doctor::MappedClass>> classes_;
  std::optional<std::vector<kube::Node>> nodes_;
};

}  // namespace divvy::cli
