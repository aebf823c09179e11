// Lists of checks. A check is a function of facts; nothing here reads the machine.
#pragma once

#include <vector>

#include "checks/finding_builder.h"
#include "doctor/cluster_facts.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

template <typename Facts>
struct Entry {
  const char* id;
  const char* asks;
  void (*look)(const Facts& facts, FindingBuilder& sink);
};

using NodeEntries = std::vector<Entry<NodeFacts>>;
using ClusterEntries = std::vector<Entry<ClusterFacts>>;

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
