// On which nodes HAMi's node agent runs: its device plugin, with the monitor in the same pod. By
// the label that its chart gives those pods. Pure. Private.
#pragma once

#include <map>
#include <set>
#include <string>

#include "kube/pod.h"

namespace divvy::scheduler {

class HamiAgentNodes {
 public:
  // True: since now there is one on the pod's node.
  bool set(const kube::Pod& pod);
  void remove(const std::string& uid);
  bool on(const std::string& node) const { return nodes_.contains(node); }

 private:
  std::map<std::string, std::string> where_;            // by UID of the agent's pod: its node
  std::map<std::string, std::set<std::string>> nodes_;  // which of them are there
};

}  // namespace divvy::scheduler
