// Reads the facts of a cluster with the user's rights.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "doctor/cluster_facts.h"
#include "kubernetes/kube_api.h"
#include "options/options.h"
#include "vendors/catalog.h"

namespace divvy::cli {

// Facts, and objects for a bundle.
struct ClusterObservation {
  doctor::ClusterFacts facts;
  std::vector<boost::json::value> nodes;  // with devices, or annotations about them
  std::vector<boost::json::value> pods;   // that hold or request devices
  boost::json::value lease;               // null: none
};

// Returns the catalog of kinds and resource names in that cluster. kUsage: the error and its
// position.
Result<vendors::Catalog> catalogFor(const ClusterChoice& choice);

// Reads the facts. Never fails: errors are among them. Makes one call at a time, each within the
// time limit of `api`. `watch`: observes the Lease until it is renewed, 3 s at most; else reads it
// once.
ClusterObservation observeCluster(KubeApi& api, const std::string& server,
                                  const vendors::Catalog& catalog, bool watch);

// Parts of it: webhooks, policies, workloads, classes, the Lease; see doctor_workloads.cpp.
void readInstalled(KubeApi& api, doctor::ClusterFacts* facts);
void readLease(KubeApi& api, bool watch, doctor::ClusterFacts* facts, boost::json::value* object);

}  // namespace divvy::cli
