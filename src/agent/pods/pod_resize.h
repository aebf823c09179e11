// What containers of this node's pods have is changed, as the scheduler admitted it
// (kube/resize_request.h).
#pragma once

#include <map>
#include <string>

#include "device/inventory.h"
#include "kube/pod.h"
#include "kube/resize_request.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// For the loop's thread. Whatever was done by whom before: a container has what is admitted for it,
// and else what its pod's assignment says. An agent that begins anew needs to remember nothing.
class PodResizer {
 public:
  PodResizer(TenantManager& tenants, const Inventory& inventory, std::string node)
      : tenants_(tenants), inventory_(inventory), node_(std::move(node)) {}

  // Told of each pod of the node; results() may be others then.
  void heard(const kube::Pod& pod);
  void forget(const std::string& uid);
  // Of changes that are admitted and not settled, by token.
  const kube::ChangeResults& results() const { return results_; }

 private:
  // What that container has becomes what the pod says. `anyway`: also less than it uses, and more
  // than there is: it is its own. `by`: at whose word.
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
