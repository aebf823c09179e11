// Lists of checks. A check is a function of facts; nothing here reads the machine.
#pragma once

#include <vector>

#include "checks/finding_builder.h"
#include "doctor/cluster_facts.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

template <typename Facts>
struct CheckEntry {
  const char* id;
  const char* question;
  void (*run)(const Facts& facts, FindingBuilder& sink);
};

using NodeEntries = std::vector<CheckEntry<NodeFacts>>;
using ClusterEntries = std::vector<CheckEntry<ClusterFacts>>;

NodeEntries driverChecks();
NodeEntries agentChecks();
NodeEntries settingsChecks();
NodeEntries installChecks();
NodeEntries runtimeChecks();
NodeEntries kubeletChecks();
NodeEntries machineChecks();
ClusterEntries controlChecks();  // our installation
ClusterEntries nodesChecks();    // nodes, pods, and installations that do what Divvy does

}  // namespace divvy::doctor
