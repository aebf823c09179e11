// Nodes with HAMi's node agent: its device plugin, with the monitor in the same pod. Recognised by
// the label that HAMi's chart gives these pods. Pure. Private.
#pragma once

#include <map>
#include <set>
#include <string>

#include "kube/pod.h"

namespace divvy::scheduler {

class HamiAgentNodes {
 public:
  // Adds or updates a pod. Returns true if it is the first agent on its node.
  bool set(const kube::Pod& pod);
  void remove(const std::string& uid);
  bool on(const std::string& node) const { return nodes_.contains(node); }

 private:
  std::map<std::string, std::string> where_;            // node by UID of the agent's pod
  std::map<std::string, std::set<std::string>> nodes_;  // UIDs of agents' pods by node
};

}  // namespace divvy::scheduler
