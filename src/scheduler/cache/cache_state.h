// State that the parts of SchedulerCache share. Private.
#pragma once

#include <cstddef>
#include <string>

#include "cache/node_table.h"
#include "cache/pod_table.h"
#include "cache/unschedulable_pods.h"
#include "cache/vendor_plugin_pods.h"
#include "engine/config.h"
#include "engine/engine.h"
#include "quota/amounts.h"
#include "quota/resource_quota.h"
#include "runtime/recent_set.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Far more pods than can be removed, or passed on, during one scheduling cycle.
inline constexpr std::size_t kMaxRemembered = 10'000;

struct CacheState {
  // `known` outlives it.
  CacheState(const vendors::Catalog& known, const engine::Config& options)
      : catalog(known), config(options), engine(options), quotas(known) {}

  // Releases the pod (PodTable::release()). Unschedulable pods may fit then.
  void release(const std::string& uid) {
    if (pods.release(uid)) unschedulable.open();
  }
  // Returns a placement's amounts for a quota. `pod`: for an unknown node; may be null.
  Amounts amountsOf(const engine::Placement& placement, const kube::Pod* pod) const {
    return heldAmounts(placement, nodes.devicesOf(placement.node.text), pod, catalog);
  }

  const vendors::Catalog& catalog;
  const engine::Config config;
  engine::Engine engine;
  ResourceQuotaTracker quotas;
  NodeTable nodes;
  PodTable pods{engine, quotas};
  VendorPluginPods plugin_pods;
  UnschedulablePods unschedulable;
  // UIDs of removed pods: kube-scheduler may still filter them, and a reservation for them would
  // stay until it expires.
  RecentSet removed{kMaxRemembered};
  // UIDs of pods that request no devices but name a device resource.
  RecentSet passed{kMaxRemembered};
};

}  // namespace divvy::scheduler
