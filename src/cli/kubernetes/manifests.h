// Pods of manifests: their own, and those that their workloads would create.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::cli {

struct ManifestPod {
  std::string name;            // "trainer"; of several "trainer-0"
  std::string namespace_name;  // as written; empty: none
  boost::json::object object;  // a Pod
  std::string idle;            // why it is not requested now: "Deployment web: replicas is 0"
};

// Reads all documents of a text, YAML or JSON: Pods, Lists, and objects with templates of pods.
// Each template counts as often as `replicas` or `parallelism` state. A template that asks for no
// pods now (0, `suspend`) yields one pod with `idle`. Other kinds are counted in `others`. kUsage:
// "NAME:LINE: PROBLEM".
struct Manifests {
  std::vector<ManifestPod> pods;
  std::size_t others = 0;
  std::vector<boost::json::value> groups;  // Jobs and PodGroups: how many pods start together
};

// Returns the path of the group in that namespace.
std::string groupPathOf(const boost::json::value& group, const std::string& namespace_name);

Result<Manifests> podsOf(const std::string& text, const std::string& name);

// Reads all files; "-" is stdin.
Result<Manifests> readManifests(const std::vector<std::string>& files);

}  // namespace divvy::cli
