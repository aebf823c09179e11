// The scheduler cache: nodes, allocations of pods as the API server reports them, and reservations
// and nominations that are not written there yet.
#pragma once

#include <cstdint>
#include <functional>
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
#include "engine/units.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/resource_quota.h"
#include "scheduler/cache_queries.h"
#include "scheduler/reservation.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// The node and the annotations that a binding writes.
struct BindPlan {
  std::string node;
  kube::Labels annotations;
  std::vector<const vendors::Kind*> kinds = {};  // kinds of the devices; the catalog owns them
};

// Pods to evict, and placements of the pods that preempt them.
struct EvictionPlan {
  std::vector<std::string> victims;       // UIDs, ascending; whole groups
  std::vector<engine::Placement> places;  // one for each pod, in the order of the pods
  std::vector<ModelUsage> use;            // sum over all pods, by model
};

// An unschedulable pod that fits now.
struct PodRef {
  std::string namespace_name, name;
};

// The outcome of a bind.
enum class BindOutcome : std::uint8_t {
  kBound,
  kRefused,    // not bound, and that call will not bind it
  kUncertain,  // no answer, or an ambiguous one: the watch of pods decides
};

// Not thread-safe. Pure: it has no clock and no I/O, callers pass each instant. The states of a pod
// and its transitions are in src/scheduler/cache/README.md.
class SchedulerCache {
 public:
  // `catalog` outlives it.
  SchedulerCache(const vendors::Catalog& catalog, engine::Config config);
  ~SchedulerCache();

  const NodeQueries& nodes() const;
  const PodQueries& pods() const;

  // Replaces all pools. Users of pools are namespaces. kUsage names the accepted values.
  Result<void> setPools(std::vector<engine::Pool> pools);

  // Adds or updates a node. Its unknown-node pods hold their devices from now on. kCorrupt: an
  // annotation or a resource cannot be read; kUsage: the engine does not accept the node. After an
  // error a known node keeps its devices and gets no new shares.
  Result<void> setNode(const kube::Node& node);
  // Removes the node if it has this UID. Its reservations end. Its bound pods become unknown-node
  // pods.
  void removeNode(const std::string& uid, const std::string& name);
  // Adds or updates a pod. A bound pod holds the devices of its assignment, once the cache has the
  // node. kCorrupt: the assignment cannot be read. The pod's allocation in the cache then stays.
  // Its node gets no new shares until the pod can be read or is removed.
  Result<void> setPod(const kube::Pod& pod);
  // Removes a pod, from any state. Its devices are free.
  void removePod(const std::string& uid);
  // Admits a resize. `pod`: the pod as it will be once its resize is recorded as admitted
  // (kube/resize_request.h). Until the resize is done, the pod holds the larger of both sizes.
  // kNoRoom names the shortage; kUnavailable: the pod holds nothing now. If the caller does not
  // write the admission to the API server, it calls setPod() with the pod as it is.
  Result<void> admitChange(const kube::Pod& pod);

  // Sets the quota of a namespace. A pod that would exceed it waits. kUsage: the message names the
  // part of the quota that is not counted; the rest counts.
  Result<void> setQuota(const kube::ResourceQuota& quota);
  void removeQuota(const std::string& uid);

  // Chooses one of `nodes` and reserves devices there until `expires`, under the pod's UID.
  // Releases the pod's earlier reservation first. kUsage: the request can never be right;
  // kNotFound: the pod was removed; kUnavailable: it is bound, or being bound.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // For a caller that chooses the node itself: fitting(), PodQueries::scores() and reserve(), in
  // this order. Errors are as of filterAndReserve() unless stated.
  //
  // Returns all of `nodes` that fit. Releases the pod's earlier reservation, and reserves nothing.
  Result<FilterResult> fitting(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // Reserves devices on `node` until `expires`, for the pod of the last fitting(). A pod that
  // requests no devices, or is reserved there already, stays as it is. kNotFound: fitting() was not
  // called; kNoRoom: another pod took the devices meanwhile, or the quota is exceeded.
  Result<void> reserve(const std::string& uid, const std::string& node, engine::Instant expires);
  // Begins a bind. The pod's reservation on `node` does not expire until finishBinding().
  // `nanoseconds`: since 1970, for the annotations. kUnavailable: the pod is being bound, or has no
  // reservation there (any more) and must be filtered again; kNoRoom: too few adjacent cores.
  Result<BindPlan> assume(const std::string& uid, const std::string& node,
                          std::int64_t nanoseconds);
  // Ends a bind that assume() began. kRefused releases the devices, and restores the pod's
  // nomination. kBound and kUncertain keep the devices without an expiry.
  void finishBinding(const std::string& uid, BindOutcome end);
  // Reserves devices for pods that kube-scheduler does not know yet: for all of `pods` or for none,
  // each under its UID until `expires`. Takes no devices of the models in `without`, and none on
  // the nodes in `not_on`. Returns the reservations in the order of `pods`. kNoRoom: they do not
  // fit now; kUsage names a pod that can never be right, or requests no devices; kNotFound,
  // kUnavailable: as of filterAndReserve().
  Result<std::vector<Reservation>> plan(std::span<const kube::Pod> pods,
                                        const std::vector<std::string>& without,
                                        const std::vector<std::string>& not_on,
                                        engine::Instant expires);
  // Restores an earlier leader's reservation for the pod. kNoRoom: it does not fit there any more.
  Result<void> restoreReservation(const kube::Pod& pod, const Reservation& was,
                                  engine::Instant expires);
  // Releases the pod's reservation unless it is being bound. Its nomination stays. `forget`: the
  // API server never reports a pod with this UID, so nothing else is kept of it.
  void unreserve(const std::string& uid, bool forget = false);
  // Runs `attempt`, which ends all reservations that it makes: no unschedulable pod fits afterwards
  // that did not fit before.
  void tryOut(const std::function<void()>& attempt);
  // Ends reservations and nominations that expire at `now` or before. Returns how many allocations
  // this released.
  std::size_t expire(engine::Instant now);

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
                                                    const engine::EvictionCosts& costs);

  // Returns at most `most` unschedulable pods that would fit now, each on its own: by priority,
  // then the longest wait first. A pod that stays unschedulable is returned again after a growing
  // pause.
  std::vector<PodRef> popSchedulable(std::size_t most, engine::Instant now);

 private:
  std::unique_ptr<CacheParts> parts_;
};

}  // namespace divvy::scheduler
