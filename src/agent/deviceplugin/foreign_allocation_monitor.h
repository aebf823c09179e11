// Looks for devices that pods of other plugins hold. Private.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "device/inventory.h"
#include "deviceplugin/pod_tracker.h"
#include "os/shutdown_state.h"
#include "pods/foreign_allocations.h"
#include "pods/kubelet_allocations.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Only on the loop's thread.
class ForeignAllocationMonitor {
 public:
  // Its references outlive the loop's last run.
  struct Inputs {
    const Inventory& inventory;
    const std::set<std::string>& resources;  // of the device plugin
    TenantManager& tenants;
    const PodTracker& pods;
    KubeletAllocations& kubelet;
    const ShutdownState& shutdown;
    // Called when holders became known, and when they changed.
    std::function<void()> changed;
  };
  explicit ForeignAllocationMonitor(Inputs inputs) : inputs_(std::move(inputs)) {}

  // Call once a second. Looks every 5 s.
  void tick();
  // Asks the kubelet for its allocations, unless it is being asked, or pods are not known yet. A
  // failure is logged once.
  void poll();
  // Whether the kubelet has answered once. Until then, devices may be held by pods of others.
  bool known() const { return known_; }

 private:
  void listed(const KubeletAllocations::List& held);
  ForeignAllocations ours() const;

  const Inputs inputs_;
  bool known_ = false;
  bool listing_ = false;  // a request is open
  unsigned ticks_ = 0;
  std::string fault_;  // why the last list failed; empty: it did not
};

}  // namespace divvy::agent
