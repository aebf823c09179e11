// What the cluster has and who holds what of it, as the API server tells it; and who was promised
// something that is not written there yet.
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

// Where a pod may go. Reasons are by the names that were asked about: those outlive it.
struct FilterResult {
  bool ours = false;                 // it asks for devices
  std::optional<std::string> node;   // reserved there; none: nowhere
  std::vector<std::string> fitting;  // all that would do, where all were asked for
  Reasons why;                       // why not
  Reasons never;                     // likewise, and nothing that ends there helps
};

// What binding has to write.
struct BindPlan {
  std::string node;
  kube::Labels annotations;
  std::vector<const vendors::Kind*> kinds = {};  // of what it was given, the catalogue's
};

// A node, as asking who would have to end there needs it.
struct NodeSnapshot {
  engine::Node node;
  kube::Quantities allocatable;
  std::vector<engine::Allocation> held;  // of its devices; what is only reserved, too
};

// Who has to end so that pods fit, and where they do then.
struct EvictionPlan {
  std::vector<std::string> victims;       // UIDs, ascending; whole groups
  std::vector<engine::Placement> places;  // of the pods, in their order
  std::vector<ModelUsage> use;            // of all of them, by model
};

// A pod that was refused, and has room now.
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
  kRefused,    // it is not bound, and will not be by that call
  kUncertain,  // no answer, or one that leaves it open: the pod itself will tell
};

// What a node registers, and what it may (kube/inventory.h).
struct NodeInventory {
  kube::Inventory registered;                // all of it
  std::optional<kube::Inventory> inventory;  // none: nothing is recorded yet, and all counts
  std::vector<std::string> surplus;          // what does not count, a line each
};

// For one thread. Pure but for what it is told: instants are the caller's.
class SchedulerCache {
 public:
  // `catalog` outlives it.
  SchedulerCache(const vendors::Catalog& catalog, engine::Config config);
  ~SchedulerCache();

  // Instead of those that there were. Users of pools are namespaces. kUsage: what is accepted.
  Result<void> setPools(std::vector<engine::Pool> pools);

  // Errors (kCorrupt) are of annotations that cannot be read: a node keeps the devices that it had
  // and gets nothing new, a pod holds nothing. What a pod holds on a node that is not known, or not
  // any more, is held there once it is.
  Result<void> setNode(const kube::Node& node);
  // What of a node's words is only a preference, is not understood, and does not count.
  std::vector<std::string> unreadOf(const std::string& node) const;
  // Null: it is not known, or what it says cannot be read.
  const NodeInventory* inventoryOf(const std::string& node) const;
  void removeNode(const std::string& uid, const std::string& name);
  Result<void> setPod(const kube::Pod& pod);
  void removePod(const std::string& uid);
  // The pod as it will be once the change that it says is admitted is told to us
  // (kube/resize_request.h): until then it is booked, the more of both. kNoRoom: what lacks;
  // kUnavailable: not now. Either way who does not write it down says so by setPod().
  Result<void> admitChange(const kube::Pod& pod);

  // What a namespace may hold at a time; who would hold more waits. kUsage: what of it is not
  // counted; the rest is.
  Result<void> setQuota(const kube::ResourceQuota& quota);
  void removeQuota(const std::string& uid);
  // Why its namespace may not hold what it asks for, whoever ends; none: it may.
  std::optional<std::string> neverWithinQuota(const kube::Pod& pod) const;
  std::vector<QuotaUsage> quotas() const;

  // It is bound without an assignment, and has devices of its node's own plugin: they are counted.
  bool countedForPlugin(const std::string& uid) const;

  // Chooses among `nodes` and reserves until `expires`, under the pod's UID; what was reserved for
  // it before is given back first. kUsage: what it asks for can never be right; kNotFound: it was
  // removed; kUnavailable: it is bound, or about to be.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // For those who choose themselves among all nodes that would do: which these are (nothing is
  // reserved), how good each of `nodes` is for it (0 to 10), and then the devices on one of them,
  // reserved until `expires`. The last of kNotFound: it was not asked for; kNoRoom: somebody else
  // was faster. Other errors as of choose.
  Result<FilterResult> fitting(const kube::Pod& pod, std::span<const std::string_view> nodes);
  Result<std::vector<unsigned>> scores(const kube::Pod& pod,
                                       std::span<const std::string_view> nodes) const;
  Result<void> reserve(const std::string& uid, const std::string& node, engine::Instant expires);
  // Which of nodes that somebody describes would do for it: all that are in neither `why` nor
  // `never`. Who holds devices of a node of that name here holds them there; of others nothing is
  // held. Nothing is reserved, and nothing else comes of it. Errors as of choose: kUsage.
  Result<FilterResult> simulateFit(const kube::Pod& pod, std::span<const kube::Node> nodes) const;
  // From here on what is reserved does not expire, until finishBinding. kUnavailable: nothing is
  // reserved for it there (any more): it is to be chosen anew. `nanoseconds`: since 1970.
  Result<BindPlan> assume(const std::string& uid, const std::string& node,
                          std::int64_t nanoseconds);
  void finishBinding(const std::string& uid, BindOutcome end);
  // A device that it was given whose units the node's kubelet does not offer, because it was full
  // (kube/device_list.h): UUID. Empty: there is none.
  std::string withdrawnFrom(const std::string& uid) const;
  // Places for pods that kube-scheduler does not know yet (cache/cache_reservations.cpp): all of
  // these or none, each reserved under its UID until `expires`; in their order. Devices of models
  // in `without` are not taken, nor any on nodes in `not_on`. kNoRoom: not now; kUsage: which of
  // them can never be right, or asks for no devices.
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  // As it was planned by a predecessor. kNoRoom: it does not fit there any more.
  Result<void> restoreReservation(const kube::Pod& pod, const Reservation& was,
                                  engine::Instant expires);
  // What was planned, or chosen, and is not being bound is given back; what is claimed stays.
  void unreserve(const std::string& uid);
  // Where something is reserved for it, or held; not what is only claimed. None: nowhere.
  std::optional<std::string> nodeOf(const std::string& uid) const;
  // Of what it has reserved, or holds; and of all that there is. By model, ascending.
  std::vector<ModelUsage> useOf(const std::string& uid) const;
  std::vector<ModelUsage> capacity() const;
  // How many reservations ended.
  std::size_t expire(engine::Instant now);

  // None: it is not known, or what it says cannot be read.
  std::optional<NodeSnapshot> snapshotOf(const std::string& node) const;
  // Of a node, as it says it; nothing of one that is not known.
  kube::Quantities allocatable(const std::string& node) const;
  // As the engine places it; none: it asks for no devices. kUsage: what is accepted.
  Result<std::optional<engine::Request>> readRequest(const kube::Pod& pod) const;
  const engine::Config& config() const;
  const std::vector<engine::Pool>& pools() const;
  // Others still have it: what they leave there is kept for that pod until then, or until it is
  // bound or removed. Instead of what was kept for it. kUnavailable: it has been placed;
  // kNoRoom: its namespace may not hold so much.
  Result<void> nominate(const kube::Pod& pod, const engine::Placement& placement,
                        engine::Instant until);
  void denominate(const std::string& uid);
  // The cheapest that have to end so that all of these fit, if those of `gone` (UIDs) were gone; no
  // more than budgets allow. What is claimed for these pods is counted as free. Nothing comes of
  // it. None: it helps nobody. kUsage: as of plan; kUnavailable: one of them has a place.
  Result<std::optional<EvictionPlan>> planEvictions(std::span<const kube::Pod> pods,
                                                    const std::vector<std::string>& gone,
                                                    const engine::EvictionCosts& stakes);

  // Somebody was refused who may fit now: something was given back or came since it was asked last,
  // or one who was told has waited for long enough to be told again.
  bool mayRequeue(engine::Instant now);
  std::size_t waiting() const;
  // Nodes that get nothing new: a pod there has an assignment that cannot be read.
  std::size_t closedNodes() const;
  // Nodes that register more than their inventories have.
  std::size_t surplusNodes() const;
  // Who was refused and would fit now, each for itself: by priority, then who has waited longest;
  // so many at most. Who is refused again is told of after a pause that grows.
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now);

  // To be told of, node by node: what there is of it and who holds what. Unknown nodes have
  // nothing.
  std::vector<std::string> nodes() const;
  std::vector<DeviceUsage> devicesOf(const std::string& node) const;
  // Of all pods that hold something; takes the time of looking at each.
  std::vector<AllocatedShare> shares() const;
  // Who was refused and has not come again since, in order of UIDs; and for what. Null: it is none.
  std::vector<UnschedulablePod> refused() const;
  const engine::Request* unschedulableRequest(const std::string& uid) const;

  // For those who only ask (scheduler/explain.h): who decides; what a pod asks of it (errors as of
  // choose: kUsage; none: it asks for no devices); a node as it is known, or null; why it is not,
  // or not any more; and whether that model is one that requests exclude without their pods' saying
  // so.
  const engine::Engine& engine() const;
  Result<std::optional<engine::Request>> requestFor(const kube::Pod& pod) const;
  const engine::Node* nodeNamed(const std::string& name) const;
  std::string faultOf(const std::string& node) const;
  bool excludesItself(const std::string& model) const;

 private:
  struct Impl;
  Result<void> takeNode(const kube::Node& node);
  void recordInventory(const std::string& name);

  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
