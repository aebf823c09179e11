// Unknown-node pods: bound pods on nodes that the cache does not have (yet, or any more). Private.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "kube/pod.h"

namespace divvy::scheduler {

struct UnknownNodePod {
  engine::Allocation held;
  std::optional<kube::Pod> said;  // to read the assignment again, with the devices of the node
};

// Indexed by UID and by node. While a large cluster is listed, most pods are here when a node is
// set.
class UnknownNodePods {
 public:
  void set(const std::string& uid, UnknownNodePod one) {
    erase(uid);
    on_[one.held.placement.node.text].insert(uid);
    all_.emplace(uid, std::move(one));
  }

  void erase(const std::string& uid) {
    const auto found = all_.find(uid);
    if (found == all_.end()) return;
    const auto there = on_.find(found->second.held.placement.node.text);
    there->second.erase(uid);
    if (there->second.empty()) on_.erase(there);
    all_.erase(found);
  }

  bool contains(const std::string& uid) const { return all_.contains(uid); }
  const UnknownNodePod& at(const std::string& uid) const { return all_.at(uid); }

  // Returns the UIDs of the pods on the node, ascending.
  std::vector<std::string> on(const std::string& node) const {
    const auto there = on_.find(node);
    if (there == on_.end()) return {};
    return {there->second.begin(), there->second.end()};
  }

 private:
  std::unordered_map<std::string, UnknownNodePod> all_;
  std::unordered_map<std::string, std::set<std::string>> on_;
};

}  // namespace divvy::scheduler
