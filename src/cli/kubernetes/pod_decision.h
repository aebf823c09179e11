// The scheduler's decision for a pod now: its node, or why none fits, remedies, and the pods that
// would be evicted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "engine/allocation.h"
#include "kubernetes/cluster.h"
#include "scheduler/dry_run.h"
#include "scheduler/explain.h"

namespace divvy::cli {

struct PodDecision {
  std::string name;                     // "NAMESPACE/NAME"
  std::vector<std::string> containers;  // init containers first
  bool ours = false;                    // requests devices
  std::optional<engine::Placement> placement;
  // Without a placement: number of nodes by reason.
  std::map<std::string, std::size_t> reasons;
  std::map<std::string, std::string> filtered;  // by node: why kube-scheduler would not ask
  std::vector<scheduler::NodeVerdict> nodes;    // the other nodes, if requested
  std::vector<scheduler::Suggestion> fixes;
  std::string gated;        // why it stays behind our gate
  scheduler::Victims ends;  // pods that would be evicted; not for a gated pod
};

// Decides for a pod, and reserves its placement in `cluster`. `all` has the members of its gang.
// `nodes`: asks about each node, too. kUsage: the request can never fit.
Result<PodDecision> decideFor(Cluster& cluster, const DryPod& pod, const std::vector<DryPod>& all,
                              bool nodes);
// Adds groups of manifests, under `ns`, or else their own namespace, or else the context's.
void addGroups(Cluster& cluster, const std::vector<boost::json::value>& groups,
               const std::string& ns);

// Returns whether no node could take the pod even if it had no tenants. False if nodes were not
// asked, or if kube-scheduler would leave some out.
bool neverFits(const PodDecision& decision);
// Returns "container c: GPU-a (3 GiB, 30%)"; a line for each container with devices.
std::vector<std::string> sharesText(const PodDecision& decision);
// Returns "too little device memory free (1 device wanted) on 2 nodes, cordoned on 1 node", the
// most frequent reason first.
std::string reasonsText(const PodDecision& decision);
// Returns "train/a (priority 0) and train/b (priority 5)".
std::string victimsText(const std::vector<scheduler::Victim>& victims);
// Returns "2 are under a disruption budget that lets none go", or nothing.
std::string protectedText(const scheduler::Victims& ends);
// Prints the cluster's troubles on stderr, each with its number.
void printTroubles(const Cluster& cluster);

}  // namespace divvy::cli
