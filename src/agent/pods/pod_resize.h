// Resizes containers of this node's pods, as the scheduler admitted it (kube/resize_request.h).
#pragma once

#include <map>
#include <string>

#include "device/inventory.h"
#include "kube/pod.h"
#include "kube/resize_request.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// Only on the loop's thread. A container has the share that is admitted for it, else the share of
// its pod's assignment. A restarted agent therefore needs no memory of earlier resizes.
class PodResizer {
 public:
  PodResizer(TenantManager& tenants, const Inventory& inventory, std::string node)
      : tenants_(tenants), inventory_(inventory), node_(std::move(node)) {}

  // Call for each pod of the node. results() may change.
  void onPodUpdate(const kube::Pod& pod);
  void forget(const std::string& uid);
  // Results of resizes that are admitted and not settled, by token.
  const kube::ChangeResults& results() const { return results_; }

 private:
  // Resizes the container to the share in the pod. `anyway`: also below its use, and beyond the
  // free capacity. `by`: the requester.
  Result<void> become(const kube::Pod& pod, const std::string& container, bool anyway,
                      const std::string& by);
  Result<void> apply(const kube::Pod& pod, const kube::ResizeState& admitted);
  void setRight(const kube::Pod& pod);

  TenantManager& tenants_;
  const Inventory& inventory_;
  const std::string node_;
  kube::ChangeResults results_;
  std::map<std::string, std::string> tokens_;  // by the pod's UID
};

}  // namespace divvy::agent
