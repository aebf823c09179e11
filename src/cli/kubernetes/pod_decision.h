// What the scheduler would do with a pod now: where it would go, or why nowhere, what would help
// and who would have to end.
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
  bool ours = false;                    // it asks for devices
  std::optional<engine::Placement> placement;
  // It goes nowhere, from here on. By what is said of nodes: how many.
  std::map<std::string, std::size_t> reasons;
  std::map<std::string, std::string> filtered;  // by node: why kube-scheduler would not ask
  std::vector<scheduler::NodeVerdict> nodes;    // the others, where they were asked for
  std::vector<scheduler::Suggestion> fixes;
  std::string gated;        // why it stays at our gate
  scheduler::Victims ends;  // who would have to end; not of who stays at our gate
};

// The cluster then has what it was given as promised. `all`: among whom those of its gang are that
// come with it. `nodes`: each is asked, too. kUsage: it can never be right.
Result<PodDecision> decideFor(Cluster& cluster, const DryPod& pod, const std::vector<DryPod>& all,
                              bool nodes);
// The groups of manifests, where they would be: `space` or else what they say, or else the
// context's.
void addGroups(Cluster& cluster, const std::vector<boost::json::value>& groups,
               const std::string& space);

// "container c: GPU-a (3 GiB, 30%)"; one line for each container with devices.
std::vector<std::string> sharesText(const PodDecision& decision);
// "2 too little device memory free (1 device wanted), 1 cordoned".
std::string reasonsText(const PodDecision& decision);
// "train/a (priority 0) and train/b (priority 5)".
std::string victimsText(const std::vector<scheduler::Victim>& victims);
// "2 are under a disruption budget that lets none go"; empty: there is nothing to say.
std::string protectedText(const scheduler::Victims& ends);
// On stderr, each with its number.
void tellTroubles(const Cluster& cluster);

}  // namespace divvy::cli
