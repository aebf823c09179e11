// Facts of a pod's object: its owner, its images and the model that it serves. Pure.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace divvy::cli {

// The object that a user made, as "KIND/NAME": for the pod of a Deployment the Deployment, not its
// ReplicaSet. Empty: the pod has no controller.
std::string ownerOf(const boost::json::value& pod);

// The images of its containers, init containers first.
std::vector<std::string> imagesOf(const boost::json::value& pod);

// The model that the pod serves or trains, and the field that says so. Both are empty if no field
// does. Fields, in their order: label divvy.dev/model; arguments --served-model-name and --model of
// serving engines (as vLLM and SGLang name them).
struct ServedModel {
  std::string name, source;
};
ServedModel servedModelOf(const boost::json::value& pod);

}  // namespace divvy::cli
