// The scheduler cache: nodes, allocations of pods as the API server reports them, and reservations
// and nominations that are not written there yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/decision.h"
#include "engine/pool.h"
#include "engine/preemption.h"
#include "engine/request.h"
#include "engine/units.h"
#include "kube/inventory.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/resource_quota.h"
#include "scheduler/device_usage.h"
#include "scheduler/node_reasons.h"
#include "scheduler/reservation.h"
#include "vendors/catalog.h"

namespace divvy::engine {
class Engine;
}

namespace divvy::scheduler {

// The nodes that fit a pod, and why other nodes do not. `why` and `never` refer to the node names
// that the caller passed: these outlive the result.
struct FilterResult {
  bool ours = false;                 // the pod requests devices
  std::optional<std::string> node;   // node with the reservation; none: nothing is reserved
  std::vector<std::string> fitting;  // nodes that fit; only SchedulerCache::fitting() fills it
  Reasons why;                       // refusals that evictions may resolve
  Reasons never;                     // refusals that no eviction resolves
};

// What a binding writes.
struct BindPlan {
  std::string node;
  kube::Labels annotations;
  std::vector<const vendors::Kind*> kinds = {};  // kinds of the devices; the catalog owns them
};

// A node, as victim selection needs it.
struct NodeSnapshot {
  engine::Node node;
  kube::Quantities allocatable;
  std::vector<engine::Allocation> held;  // on its devices, reservations included
};

// Pods to evict, and placements of the pods that preempt them.
struct EvictionPlan {
  std::vector<std::string> victims;       // UIDs, ascending; whole groups
  std::vector<engine::Placement> places;  // one for each pod, in the order of the pods
  std::vector<ModelUsage> use;            // sum over all pods, by model
};

// An unschedulable pod that fits now.
struct PodRef {
  std::string space, name;
};

// A pod that was refused.
struct UnschedulablePod {
  std::string uid, space, name;
};

// What became of a bind.
enum class BindOutcome : std::uint8_t {
  kBound,
  kRefused,    // not bound, and that call will not bind it
  kUncertain,  // no answer, or an ambiguous one: the watch of pods decides
};

// What a node registers, and what it may register (kube/inventory.h).
struct NodeInventory {
  kube::Inventory registered;                // everything that the node registers
  std::optional<kube::Inventory> inventory;  // none: nothing is recorded, and everything counts
  std::vector<std::string> surplus;          // devices that do not count, one line each
};

// Not thread-safe. Pure: it has no clock and no I/O, callers pass each instant.
class SchedulerCache {
 public:
  // `catalog` outlives it.
  SchedulerCache(const vendors::Catalog& catalog, engine::Config config);
  ~SchedulerCache();

  // Replaces all pools. Users of pools are namespaces. kUsage: what is accepted.
  Result<void> setPools(std::vector<engine::Pool> pools);

  // Adds or updates a node. Its unknown-node pods hold their devices from now on. kCorrupt: an
  // annotation or a resource cannot be read; kUsage: the engine does not accept the node. After an
  // error a known node keeps its devices and gets no new shares.
  Result<void> setNode(const kube::Node& node);
  // Returns preferences in the node's annotations that were not understood and do not count.
  std::vector<std::string> unreadOf(const std::string& node) const;
  // Null: the node is unknown, or its annotations cannot be read. Valid until the next setNode() or
  // removeNode().
  const NodeInventory* inventoryOf(const std::string& node) const;
  // Removes the node if it has this UID. Its reservations end. Its bound pods become unknown-node
  // pods.
  void removeNode(const std::string& uid, const std::string& name);
  // Adds or updates a pod. A bound pod holds what its assignment says; if the cache lacks the node,
  // it does so once the node is set. kCorrupt: the assignment cannot be read. What the cache holds
  // for the pod then stays. Its node gets no new shares until the pod can be read or is removed.
  Result<void> setPod(const kube::Pod& pod);
  // Removes a pod, from any state. What it held is free.
  void removePod(const std::string& uid);
  // Admits a resize. `pod`: the pod as it will be once its resize is recorded as admitted
  // (kube/resize_request.h). Until the resize is done, the pod holds the larger of both sizes.
  // kNoRoom: what lacks; kUnavailable: the pod holds nothing now. If the caller does not write the
  // admission to the API server, it calls setPod() with the pod as it is.
  Result<void> admitChange(const kube::Pod& pod);

  // Sets what a namespace may hold at a time. A pod that would exceed it waits. kUsage: which part
  // of the quota is not counted; the rest counts.
  Result<void> setQuota(const kube::ResourceQuota& quota);
  void removeQuota(const std::string& uid);
  // Returns why the pod's namespace may never hold what the pod requests, even if the namespace
  // held nothing else. None: it may.
  std::optional<std::string> neverWithinQuota(const kube::Pod& pod) const;
  std::vector<QuotaUsage> quotas() const;

  // Returns true if the pod is bound without an assignment and the cache counts its devices, which
  // the vendor plugin of its node handed out.
  bool countedForPlugin(const std::string& uid) const;

  // Chooses one of `nodes` and reserves devices there until `expires`, under the pod's UID.
  // Releases the pod's earlier reservation first. kUsage: the request can never be right;
  // kNotFound: the pod was removed; kUnavailable: it is bound, or being bound.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // The next three are for a caller that chooses the node itself, in this order. Errors are as of
  // filterAndReserve() unless stated.
  //
  // Returns all of `nodes` that fit. Releases the pod's earlier reservation, and reserves nothing.
  Result<FilterResult> fitting(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // Returns a score for each of `nodes`: 0: does not fit; 1: worst; 10: best.
  Result<std::vector<unsigned>> scores(const kube::Pod& pod,
                                       std::span<const std::string_view> nodes) const;
  // Reserves devices on `node` until `expires`, for the pod of the last fitting(). A pod that
  // requests no devices, or is reserved there already, stays as it is. kNotFound: fitting() was not
  // called; kNoRoom: another pod took the devices meanwhile, or the quota is exceeded.
  Result<void> reserve(const std::string& uid, const std::string& node, engine::Instant expires);
  // Evaluates a what-if: which of `nodes`, as the caller describes them, fit. A node fits if it is
  // in neither `why` nor `never`. Pods that hold devices on a node of that name hold them in the
  // what-if too; other nodes are empty. Changes nothing. kUsage: the request can never be right.
  Result<FilterResult> simulateFit(const kube::Pod& pod, std::span<const kube::Node> nodes) const;
  // Begins a bind. The pod's reservation on `node` does not expire until finishBinding().
  // `nanoseconds`: since 1970, for the annotations. kUnavailable: the pod is being bound, or has no
  // reservation there (any more) and must be filtered again; kNoRoom: too few adjacent cores.
  Result<BindPlan> assume(const std::string& uid, const std::string& node,
                          std::int64_t nanoseconds);
  // Ends a bind that assume() began. kRefused releases the devices, and restores the pod's
  // nomination. kBound and kUncertain keep the devices without an expiry.
  void finishBinding(const std::string& uid, BindOutcome end);
  // Returns the UUID of a device of the pod that the node's kubelet does not offer because it was
  // full (kube/device_list.h). Empty: there is none.
  std::string withdrawnFrom(const std::string& uid) const;
  // Reserves devices for pods that kube-scheduler does not know yet: for all of `pods` or for none,
  // each under its UID until `expires`. Takes no devices of the models in `without`, and none on
  // the nodes in `not_on`. Returns the reservations in the order of `pods`. kNoRoom: they do not
  // fit now; kUsage: which pod can never be right, or requests no devices; kNotFound, kUnavailable:
  // as of filterAndReserve().
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  // Reserves what an earlier leader reserved for the pod. kNoRoom: it does not fit there any more.
  Result<void> restoreReservation(const kube::Pod& pod, const Reservation& was,
                                  engine::Instant expires);
  // Releases the pod's reservation unless it is being bound. Its nomination stays.
  void unreserve(const std::string& uid);
  // Returns the node on which the pod has a reservation or holds devices; a nomination does not
  // count. None: there is no such node.
  std::optional<std::string> nodeOf(const std::string& uid) const;
  // Returns what the pod holds, has reserved or is nominated for. By model, ascending.
  std::vector<ModelUsage> useOf(const std::string& uid) const;
  // Returns what all devices of all nodes have. By model, ascending.
  std::vector<ModelUsage> capacity() const;
  // Ends reservations and nominations that expire at `now` or before. Returns how many allocations
  // this released.
  std::size_t expire(engine::Instant now);

  // Returns the node with what is held there. None: the node is unknown, or its annotations cannot
  // be read.
  std::optional<NodeSnapshot> snapshotOf(const std::string& node) const;
  // Returns the allocatable resources of the Node object; empty for an unknown node.
  kube::Quantities allocatable(const std::string& node) const;
  // Returns the pod's request; none: it requests no devices. kUsage: what is accepted.
  Result<std::optional<engine::Request>> readRequest(const kube::Pod& pod) const;
  const engine::Config& config() const;
  const std::vector<engine::Pool>& pools() const;
  // Holds the capacity of `placement`, which victims still use, for the pod until `until`, or until
  // the pod is bound or removed. Replaces the pod's earlier nomination. kUnavailable: the pod has
  // been placed; kNotFound: it was removed; kNoRoom: its namespace may not hold as much.
  Result<void> nominate(const kube::Pod& pod, const engine::Placement& placement,
                        engine::Instant until);
  // Ends the pod's nomination. A reservation stays.
  void denominate(const std::string& uid);
  // Returns the cheapest evictions after which all of `pods` fit, within disruption budgets. Pods
  // with a UID in `gone` count as gone, and nominations of `pods` as free. Changes nothing. None:
  // no allowed evictions help. kUsage: as of plan(); kUnavailable: one of `pods` has been placed.
  Result<std::optional<EvictionPlan>> planEvictions(std::span<const kube::Pod> pods,
                                                    const std::vector<std::string>& gone,
                                                    const engine::EvictionCosts& stakes);

  // Returns true if an unschedulable pod may fit now: capacity was freed or added since the last
  // popSchedulable(), or the pause of a pod that it returned has ended.
  bool mayRequeue(engine::Instant now);
  // Returns the number of unschedulable pods.
  std::size_t waiting() const;
  // Returns the number of nodes that get no new shares because a pod there has an unreadable
  // assignment.
  std::size_t closedNodes() const;
  // Returns the number of nodes that register more than their inventories have.
  std::size_t surplusNodes() const;
  // Returns at most `most` unschedulable pods that would fit now, each on its own: by priority,
  // then the longest wait first. A pod that stays unschedulable is returned again after a growing
  // pause.
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now);

  // Returns the names of all nodes, ascending.
  std::vector<std::string> nodes() const;
  // Returns the node's devices and their use; empty for an unknown node.
  std::vector<DeviceUsage> devicesOf(const std::string& node) const;
  // Returns the shares of all pods that hold devices. Takes time for each of these pods.
  std::vector<AllocatedShare> shares() const;
  // Returns the unschedulable pods, ascending by UID.
  std::vector<UnschedulablePod> refused() const;
  // Returns the request of an unschedulable pod; null: the pod is none. Valid until the next
  // change.
  const engine::Request* unschedulableRequest(const std::string& uid) const;

  // For queries (scheduler/explain.h): the engine that decides.
  const engine::Engine& engine() const;
  // As readRequest(), but each error is kUsage.
  Result<std::optional<engine::Request>> requestFor(const kube::Pod& pod) const;
  // Returns the node as its object describes it; null: it is unknown. Valid until the next
  // setNode() or removeNode().
  const engine::Node* nodeNamed(const std::string& name) const;
  // Returns why the node is unknown or unreadable; empty: it is neither.
  std::string faultOf(const std::string& node) const;
  // Returns true for a model that requests exclude although their pods do not say so.
  bool excludesItself(const std::string& model) const;

 private:
  struct Impl;
  Result<void> takeNode(const kube::Node& node);
  void recordInventory(const std::string& name);

  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
