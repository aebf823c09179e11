// Nodes and pods, from the API server's reports into the scheduler cache. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "cache/cache_state.h"
#include "cache/recorded_uuids.h"
#include "kube/node.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// Functions with names of SchedulerCache keep its contracts.
class ClusterUpdates {
 public:
  // `state` outlives it.
  explicit ClusterUpdates(CacheState& state) : state_(state) {}

  Result<void> setNode(const kube::Node& node);
  void removeNode(const std::string& uid, const std::string& name);
  Result<void> setPod(const kube::Pod& pod);
  void removePod(const std::string& uid);
  Result<void> admitChange(const kube::Pod& pod);

 private:
  Result<void> takeNode(const kube::Node& node);
  void recordInventory(const std::string& name);
  void showNode(const std::string& name);
  void settleUnknown(const std::string& node);
  void closeFor(const kube::Pod& pod, const std::string& why);
  void reopenFor(const std::string& uid, const std::string& but);
  Result<void> setAssigned(const kube::Pod& pod, const engine::Allocation& held);
  void setUnassigned(const kube::Pod& pod);
  void countForPlugin(const std::string& uid);
  QuotaCharge chargeOf(const kube::Pod& pod, const engine::Placement& placement) const;

  CacheState& state_;
  RecordedUuids recorded_;
};

}  // namespace divvy::scheduler
