// The capacity that the agent publishes in its node's status, beside the devices that the kubelet
// counts. Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/node.h"

namespace divvy::agent {

class NodeCapacity {
 public:
  using Amounts = std::map<std::string, std::uint64_t>;  // by resource

  // `resources`: those of the device plugin. Outlives this object.
  explicit NodeCapacity(const std::set<std::string>& resources) : resources_(resources) {}

  // Sets the capacity that the status shall have.
  void want(Amounts wanted) { wanted_ = std::move(wanted); }
  // Takes the values of the Node object: the capacity, and the resources that an agent announced
  // and that are to be removed. The annotation may have another author, so resources of the device
  // plugin and names without '/' are never removed.
  void onNodeUpdate(const kube::Node& node);
  // The status was written with these amounts, and without the resources that were to be removed.
  void written(Amounts amounts);

  // Whether the status is as wanted.
  bool upToDate() const { return now_ == wanted_ && withdrawn_.empty(); }
  const Amounts& wanted() const { return wanted_; }
  // Resources to be removed from the status.
  const std::set<std::string>& withdrawn() const { return withdrawn_; }
  // Value of kube::kAnnouncedResourcesKey: wanted resources, and those that are not removed yet.
  // Otherwise no later agent would know of them.
  std::set<std::string> announced() const;

 private:
  const std::set<std::string>& resources_;
  Amounts wanted_;
  Amounts now_;  // the wanted resources that the status has
  std::set<std::string> withdrawn_;
};

}  // namespace divvy::agent
