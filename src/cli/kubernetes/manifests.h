// Pods out of manifests: their own, and those that workloads would make.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::cli {

struct WantedPod {
  std::string name;            // "trainer"; of several "trainer-0"
  std::string space;           // as it is written; empty: it is not
  boost::json::object object;  // a Pod
  std::string idle;            // why it is not asked for now: "Deployment web: replicas is 0"
};

// Every document of the text, YAML or JSON: Pods, Lists, and objects with templates of pods, as
// many of each as `replicas`, or `parallelism`, ask for. Of what asks for none now (0, `suspend`)
// there is one, with `idle`. Other kinds are counted in `others`. kUsage: "NAME:LINE: what is
// wrong".
struct Manifests {
  std::vector<WantedPod> pods;
  std::size_t others = 0;
  std::vector<boost::json::value> groups;  // Jobs, and PodGroups: how many start together
};

// Where an API server would have that group in that namespace.
std::string groupPathOf(const boost::json::value& group, const std::string& space);

Result<Manifests> podsOf(const std::string& text, const std::string& name);

// All of these files; "-" is stdin.
Result<Manifests> readManifests(const std::vector<std::string>& files);

}  // namespace divvy::cli
