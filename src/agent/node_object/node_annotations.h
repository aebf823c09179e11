// The annotations by which the agent publishes on its node. Pure. Private.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include <boost/json/object.hpp>

#include "kube/eviction_request.h"
#include "kube/resize_request.h"

namespace divvy::agent {

// By key. An empty value: the annotation is absent, or to be removed.
using Annotations = std::map<std::string, std::string>;

// State of parts of the agent that the node publishes.
struct PublishedState {
  std::set<std::string> counted;  // resources that the kubelet has counted
  // Whether devices that other plugins' pods hold are known. Before, such a device could be
  // allocated again.
  bool holders_known = false;
  std::set<std::string> full;                    // UUIDs of full devices
  std::optional<kube::Complaints> idle, bypass;  // nothing: not computed yet
  kube::ChangeResults resizes;
};

// Facts of the publisher itself.
struct DeviceFacts {
  const std::set<std::string>& resources;  // of the device plugin
  const std::string& nics;                 // value of kube::kNicsKey
  const Annotations& registration;         // registrationIn()
  const std::set<std::string>& left;       // keys to be removed
  std::set<std::string> announced;         // value of kube::kAnnouncedResourcesKey
  bool deprecated_names = true;            // old keys have the values, too; else they are removed
};

// Whether the node may publish its devices: their holders are known, and the kubelet counts one of
// `resources`, if there are any. The kubelet rejects for good a pod that comes earlier.
bool mayRegister(const PublishedState& state, const std::set<std::string>& resources);

// The annotations that the node shall have. `published`: those that it has. A value that is not
// known yet stays as an earlier agent published it.
Annotations wantedAnnotations(const PublishedState& state, const DeviceFacts& devices,
                              const Annotations& published);

// metadata.annotations of a merge patch that turns `published` into `wanted`: values that differ,
// null for an empty one.
boost::json::object annotationPatch(const Annotations& published, const Annotations& wanted);

}  // namespace divvy::agent
