// Queries of the scheduler cache: nodes with their devices, pods with their shares.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/allocation.h"
#include "engine/config.h"
#include "engine/model.h"
#include "engine/pool.h"
#include "engine/request.h"
#include "engine/units.h"
#include "kube/inventory.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "scheduler/device_usage.h"
#include "scheduler/node_reasons.h"
#include "scheduler/reservation.h"

namespace divvy::engine {
class Engine;
}

namespace divvy::scheduler {

struct CacheParts;
struct CacheState;

// The nodes that fit a pod, and why other nodes do not. `why` and `never` refer to the node names
// that the caller passed: these outlive the result.
struct FilterResult {
  bool ours = false;                 // the pod requests devices
  std::optional<std::string> node;   // node with the reservation; none: nothing is reserved
  std::vector<std::string> fitting;  // nodes that fit; only SchedulerCache::fitting() fills it
  Reasons why;                       // refusals that evictions may resolve
  Reasons never;                     // refusals that no eviction resolves
};

// A node, as victim selection needs it.
struct NodeSnapshot {
  engine::Node node;
  kube::Quantities allocatable;
  std::vector<engine::Allocation> held;  // on its devices, reservations included
};

// A pod that was refused.
struct UnschedulablePod {
  std::string uid, namespace_name, name;
};

// A node's registration, and the inventory that limits it (kube/inventory.h).
struct NodeInventory {
  kube::Inventory registered;                // everything that the node registers
  std::optional<kube::Inventory> inventory;  // none: nothing is recorded, and everything counts
  std::vector<std::string> surplus;          // devices that do not count, one line each
};

// Queries about nodes, owned by a SchedulerCache. Changes nothing. Not thread-safe, as the cache.
class NodeQueries {
 public:
  // `state` outlives it.
  explicit NodeQueries(const CacheState& state) : state_(state) {}

  // Returns the names of all nodes, ascending.
  std::vector<std::string> names() const;
  // Returns the node as its object describes it; null: it is unknown. Valid until the next
  // setNode() or removeNode().
  const engine::Node* nodeNamed(const std::string& name) const;
  // Returns why the node is unknown or unreadable; empty: it is neither.
  std::string faultOf(const std::string& node) const;
  // Returns preferences in the node's annotations that were not understood and do not count.
  std::vector<std::string> unreadOf(const std::string& node) const;
  // Null: the node is unknown, or its annotations cannot be read. Valid until the next setNode() or
  // removeNode().
  const NodeInventory* inventoryOf(const std::string& node) const;

  // Returns the node's devices and their use; empty for an unknown node.
  std::vector<DeviceUsage> devicesOf(const std::string& node) const;
  // Returns the node with its allocations and reservations. None: the node is unknown, or its
  // annotations cannot be read.
  std::optional<NodeSnapshot> snapshotOf(const std::string& node) const;
  // Returns the allocatable resources of the Node object; empty for an unknown node.
  kube::Quantities allocatable(const std::string& node) const;
  // Returns the capacity of all devices of all nodes. By model, ascending.
  std::vector<ModelUsage> capacity() const;
  const std::vector<engine::Pool>& pools() const;
  // Returns true for a model that requests exclude although their pods do not state it.
  bool excludesItself(const std::string& model) const;

  // Returns the number of nodes that get no new shares because a pod there has an unreadable
  // assignment.
  std::size_t closedNodes() const;
  // Returns the number of nodes that register more than their inventories have.
  std::size_t surplusNodes() const;

 private:
  const CacheState& state_;
};

// Queries about pods, owned by a SchedulerCache. The rules of NodeQueries apply.
class PodQueries {
 public:
  // `parts` outlives it.
  explicit PodQueries(const CacheParts& parts) : parts_(parts) {}

  // Returns the pod's request; none: it requests no devices. kUsage names the accepted input.
  Result<std::optional<engine::Request>> readRequest(const kube::Pod& pod) const;
  // As readRequest(), but each error is kUsage.
  Result<std::optional<engine::Request>> requestFor(const kube::Pod& pod) const;
  // Returns a score for each of `nodes`: 0: does not fit; 1: worst; 10: best.
  Result<std::vector<unsigned>> scores(const kube::Pod& pod,
                                       std::span<const std::string_view> nodes) const;
  // Evaluates a what-if: which of `nodes`, as the caller describes them, fit. A node fits if it is
  // in neither `why` nor `never`. Pods that hold devices on a node of that name hold them in the
  // what-if too; other nodes are empty. Changes nothing. kUsage: the request can never be right.
  Result<FilterResult> simulateFit(const kube::Pod& pod, std::span<const kube::Node> nodes) const;

  // Returns the node on which the pod has a reservation or holds devices; a nomination does not
  // count. None: there is no such node.
  std::optional<std::string> nodeOf(const std::string& uid) const;
  // Returns the amounts that the pod holds, has reserved or is nominated for. By model, ascending.
  std::vector<ModelUsage> useOf(const std::string& uid) const;
  // Returns the shares of all pods that hold devices. Takes time for each of these pods.
  std::vector<AllocatedShare> shares() const;
  // Returns the UUID of a device of the pod that the node's kubelet does not offer because it was
  // full (kube/device_list.h). Empty: there is none.
  std::string withdrawnFrom(const std::string& uid) const;
  // Returns true if the pod is bound without an assignment and the cache counts its devices, which
  // the vendor plugin of its node handed out.
  bool countedForPlugin(const std::string& uid) const;

  // Returns why the pod's namespace may never hold the pod's request, even if the namespace held
  // nothing else. None: it may.
  std::optional<std::string> neverWithinQuota(const kube::Pod& pod) const;
  std::vector<QuotaUsage> quotas() const;

  // Returns true if an unschedulable pod may fit now. That is so if capacity was freed or added
  // since the last popSchedulable(), or if the pause of a pod that it returned has ended.
  bool mayRequeue(engine::Instant now) const;
  // Returns the number of unschedulable pods.
  std::size_t waiting() const;
  // Returns the unschedulable pods, ascending by UID.
  std::vector<UnschedulablePod> refused() const;
  // Returns the request of an unschedulable pod; null: the pod is none. Valid until the next
  // change.
  const engine::Request* unschedulableRequest(const std::string& uid) const;

  const engine::Config& config() const;
  // Returns the engine that decides.
  const engine::Engine& engine() const;

 private:
  const CacheParts& parts_;
};

}  // namespace divvy::scheduler
