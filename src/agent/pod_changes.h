// What containers of this node's pods have is changed, as the scheduler admitted it
// (kube/share_change.h).
#pragma once

#include <map>
#include <string>

#include "inventory.h"
#include "kube/pod.h"
#include "kube/share_change.h"
#include "tenants.h"

namespace divvy::agent {

// For the loop's thread. What was done is done again where it is heard of again: an agent that
// begins anew remembers nothing of it.
class PodChanges {
 public:
  PodChanges(Tenants& tenants, const Inventory& inventory)
      : tenants_(tenants), inventory_(inventory) {}

  // Told of each pod of the node. Whether there is something else to be said of changes now.
  bool heard(const kube::Pod& pod);
  bool forget(const std::string& uid);
  // Of changes that are admitted and not settled.
  const kube::ChangeResults& results() const { return results_; }

 private:
  Result<void> apply(const kube::Pod& pod, const kube::ChangeState& admitted);
  Result<void> apply(const kube::Pod& pod, const kube::ShareChange& change,
                     const std::string& assignment);
  void takeBack(const kube::Pod& pod);
  TenantPtr tenantOf(const kube::Pod& pod, const std::string& container) const;

  Tenants& tenants_;
  const Inventory& inventory_;
  kube::ChangeResults results_;
  std::map<std::string, std::string> ids_;  // by the pod's UID: of the change
};

}  // namespace divvy::agent
