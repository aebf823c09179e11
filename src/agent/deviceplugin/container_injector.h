// How a node's runtime is told what pods' containers get, and whether it heeds that. Private.
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

// The kubelet's answer is given before anybody knows whose container it is for. By mounts it has
// all of it. By CDI it has a name only: what stands under that name is written when the container
// is about to be made, and its cards are known. A runtime that does not read CDI starts such a
// container without a word, and without anything: whether the first one's spec was opened before it
// ran is looked at. All but injection() is of the loop's thread.
class ContainerInjector {
 public:
  ContainerInjector(const ClusterNode& cluster, const Node& node, const NodePaths& paths,
                    const InstallLayout& install, const Inventory& inventory,
                    std::shared_ptr<helper::Client> link);

  // kIo: the folder cannot be used, and nothing but CDI is wanted.
  Result<void> open();
  // From any thread. `tenant`: id.
  kubelet::Injection injection(const std::string& tenant, bool* by_cdi) const;

  // What the node says of itself: status.nodeInfo.
  void heardNode(const std::string& runtime, const std::string& kubelet);
  // The kubelet was given that name.
  void gaveName(const std::string& tenant) { unproven_[tenant] = false; }
  // A container of that tenant is about to be made. An error: it must not be.
  Result<void> prepare(Tenant& tenant);
  // The pod says that it runs, or did.
  void runs(const std::string& tenant);
  // Once a second.
  void look(const std::set<std::string>& living);

 private:
  Result<std::string> specOf(const Tenant& tenant) const;
  // Where it is up to us: by which of the two from now on.
  void weigh();
  // Of real cards, what NVIDIA's toolkit wrote for the driver that runs. Empty: it can be used.
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
  std::string runtime_;                   // as it was when that was decided
  std::string kubelet_;                   // likewise
  std::optional<std::string> why_;        // it was decided so; empty: by CDI
  bool ignores_ = false;                  // that runtime was seen to
  unsigned looks_ = 0;                    // since that was weighed
  bool proven_ = false;                   // it reads specs
  std::string refusal_;                   // why no container is made any more
  std::map<std::string, bool> unproven_;  // by tenant: it runs
};

}  // namespace divvy::agent
