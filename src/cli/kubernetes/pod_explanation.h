// The explanation of `divvy explain pod`: the decision for a pod, and what else bears on it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "kubernetes/cluster.h"
#include "kubernetes/pod_decision.h"

namespace divvy::cli {

struct PodExplanation {
  PodDecision decision;
  std::string bound;               // the node where it is already
  std::vector<std::string> gates;  // gates that hold it
  std::string scheduler;           // another scheduler than Divvy's; empty: Divvy's, or irrelevant
  std::string idle;                // why no such pod exists now; empty: one does
  std::string condition_text;      // the text of its condition
  std::string hazard;  // why kube-scheduler may refuse nodes nevertheless; empty: it does not
  // For devices that were refused for their model: annotations and resources that choose models.
  std::map<std::string, std::string> models;
};

// Explains one pod. For a pod that is bound, its allocation. For another one, a decision that
// leaves a reservation in `cluster`. `all` has the members of its gang. `hazard`: of
// DeviceClassHazards, for a pod that is not bound. kUsage: the request can never fit.
Result<PodExplanation> explainOne(Cluster& cluster, const DryPod& pod,
                                  const std::vector<DryPod>& all, const std::string& hazard);

// The last status that the pod's conditions give; may be empty. `pod`: as the API server returns
// it.
std::string conditionTextOf(const boost::json::value& pod);

// One element of `divvy explain pod -o json`.
boost::json::object explanationJson(const PodExplanation& explained);

}  // namespace divvy::cli
