// The plan of `divvy plan`: nodes and victims of the pods of manifests, one after another.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kubernetes/cluster.h"
#include "kubernetes/manifests.h"
#include "kubernetes/pod_decision.h"

namespace divvy::cli {

struct PodPlan {
  PodDecision decision;
  std::vector<std::string> ended;  // names of victims
  std::string ended_text;
  std::string refused;  // the API server would refuse it
  std::string idle;     // why it does not exist now
};

// Plans all pods of the manifests; each takes what the next one cannot have. Changes `cluster`: its
// victims stay evicted. `namespace_name`: of all pods; empty: their own, or else the context's.
// kUnavailable: the API server does not answer. A pod that it refuses is in the result.
Result<std::vector<PodPlan>> planManifests(Cluster& cluster, Manifests manifests,
                                           const std::string& namespace_name);

// Returns whether the pod would get its devices, or requests none.
bool works(const PodPlan& planned);
// Devices of the pod, or why it gets none.
std::string noteOf(const PodPlan& planned);
// One element of `divvy plan -o json`.
boost::json::value planJson(const PodPlan& planned);

}  // namespace divvy::cli
