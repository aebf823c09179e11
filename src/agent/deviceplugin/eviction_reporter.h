// Finds the pods that do not use their devices or bypass their limits, and has the node publish
// requests for their eviction. Private.
#pragma once

#include <optional>
#include <string>

#include "deviceplugin/pod_tracker.h"
#include "enforcement/limit_bypass_monitor.h"
#include "idle/idle_report.h"
#include "kube/eviction_request.h"
#include "kube/pod.h"
#include "node_object/node_publisher.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Only on the loop's thread. The arguments must outlive it.
class EvictionReporter {
 public:
  EvictionReporter(const TenantManager& tenants, const LimitBypassMonitor& monitor,
                   const PodTracker& pods, NodePublisher& node)
      : tenants_(tenants), monitor_(monitor), pods_(pods), node_(node) {}

  // Call once a second. Publishes the changes.
  void update();
  // Takes the scheduler's notices from the pod. Notices that cannot be decoded are taken as none.
  void podChanged(const kube::Pod& pod);
  void podEnded(const std::string& uid);
  // The requests; nothing: not computed since the node is known.
  const std::optional<kube::Complaints>& idle() const { return idle_; }
  const std::optional<kube::Complaints>& bypass() const { return bypass_; }

 private:
  void updateIdle();
  void updateBypass();
  // Returns `now`, or else the requests that an earlier agent published under `key`.
  kube::Complaints earlier(const std::optional<kube::Complaints>& now, const char* key) const;

  const TenantManager& tenants_;
  const LimitBypassMonitor& monitor_;
  const PodTracker& pods_;
  NodePublisher& node_;
  std::optional<kube::Complaints> idle_, bypass_;
  Deadlines idle_deadlines_, bypass_deadlines_;
};

}  // namespace divvy::agent
