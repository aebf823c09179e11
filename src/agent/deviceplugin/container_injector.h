// Chooses how pods' containers get their edits, and checks that the node's runtime applies them.
// Private.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "agent/cluster_node.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "container/cdi_directory.h"
#include "device/inventory.h"
#include "kubelet/device_plugin.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// The kubelet is answered before the container is known. With mounts, the answer has all edits.
// With CDI, it has a device name only; the spec of that name is written before the container is
// made, when its cards are known.
// A runtime without CDI support starts such a container without an error and without its edits. The
// first spec is therefore checked: the runtime must open it before the container runs. All
// functions but injection() run on the loop's thread.
class ContainerInjector {
 public:
  ContainerInjector(const ClusterNode& cluster, const Node& node, const NodePaths& paths,
                    const InstallLayout& install, const Inventory& inventory,
                    std::shared_ptr<helper::Client> link);

  // Opens the CDI directory. kIo: it is not usable, and only CDI is permitted.
  Result<void> open();
  // For any thread. `tenant`: ID.
  kubelet::Injection injection(const std::string& tenant, bool* by_cdi) const;

  // The node's status.nodeInfo.
  void onNodeUpdate(const std::string& runtime, const std::string& kubelet);
  // The kubelet was given the tenant's CDI name.
  void gaveName(const std::string& tenant) { unproven_[tenant] = false; }
  // Prepares the start of a container of that tenant. On an error the container must not start.
  Result<void> prepare(Tenant& tenant);
  // The pod's status shows that the container runs or has run.
  void runs(const std::string& tenant);
  // Checks whether specs were read. Call once a second. `living`: IDs of tenants.
  void poll(const std::set<std::string>& living);

 private:
  Result<std::string> specOf(const Tenant& tenant) const;
  // In mode kAuto, chooses between mounts and CDI.
  void weigh();
  // Why the spec that NVIDIA's toolkit wrote for the running driver is not usable; empty: it is.
  // Only for real cards.
  std::string whyNoDriverSpec() const;
  void decide(bool by_cdi, const std::string& why);
  void ignored(const std::string& tenant);

  const InjectionMode wanted_;
  const Node node_;
  const NodePaths paths_;
  const InstallLayout install_;
  const Inventory& inventory_;
  const std::string visible_;
  CdiDirectory folder_;
  std::atomic<bool> by_cdi_ = false;
  std::string runtime_;                   // at the time of the choice
  std::string kubelet_;                   // at the time of the choice
  std::optional<std::string> why_;        // reason of the choice; empty: CDI
  bool ignores_ = false;                  // that runtime was seen to ignore CDI
  unsigned looks_ = 0;                    // since the last choice
  bool proven_ = false;                   // the runtime reads specs
  std::string refusal_;                   // why no more containers are prepared
  std::map<std::string, bool> unproven_;  // by tenant: its container runs
};

}  // namespace divvy::agent
