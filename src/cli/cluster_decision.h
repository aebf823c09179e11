// What the scheduler would do with a pod now: where it would go, or why nowhere, what would help
// and who would have to end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster.h"
#include "engine/allocation.h"
#include "scheduler/inquiry.h"

namespace divvy::cli {

struct PodDecision {
  std::string name;                     // "NAMESPACE/NAME"
  std::vector<std::string> containers;  // init containers first
  bool ours = false;                    // it asks for devices
  std::optional<engine::Placement> placement;
  // It goes nowhere, from here on. By what is said of nodes: how many.
  std::map<std::string, std::size_t> reasons;
  std::map<std::string, std::string> filtered;  // by node: why kube-scheduler would not ask
  std::vector<scheduler::NodeVerdict> nodes;    // the others, where they were asked for
  std::vector<scheduler::Fix> fixes;
  std::vector<std::string> victims;  // UIDs; empty: no such set
  std::string victims_node;
};

// The cluster then has what it was given as promised. `nodes`: each is asked, too. kUsage: it can
// never be right.
Result<PodDecision> decideFor(Cluster& cluster, const DryPod& pod, bool nodes);

// "container c: GPU-a (3 GiB, 30%)"; one line for each container with devices.
std::vector<std::string> sharesText(const PodDecision& decision);
// "2 too little device memory free (1 device wanted), 1 cordoned".
std::string reasonsText(const PodDecision& decision);
// "train/a (priority 0) and train/b (priority 5)".
std::string victimsText(const Cluster& cluster, const std::vector<std::string>& victims);

}  // namespace divvy::cli
