// A dry run: the decisions of the gate, the filter and preemption, by the same code and without
// their effects. Nothing is written to the cluster, and no reservation expires. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/budget.h"
#include "kube/pod.h"
#include "kube/queue.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// A pod that would be evicted, or is terminating.
struct Victim {
  std::string uid, namespace_name, name;
  std::int64_t priority = 0;
};

struct Victims {
  std::string node;           // empty: no eviction would help
  std::vector<Victim> who;    // victims; empty: the pods that terminate on `node` are enough
  std::vector<Victim> going;  // terminating pods on `node`
  // Pods of lower priority on the examined nodes that are no candidates. `fixed`: their annotations
  // protect them or cannot be read, or a DaemonSet or the kubelet would recreate them. `young`:
  // they have not run for their minimum time. `budgeted`: a disruption budget allows no eviction
  // now, or several budgets cover the pod.
  std::size_t fixed = 0, young = 0, budgeted = 0;
};

// Not thread-safe.
class SchedulingDryRun {
 public:
  struct Options {
    std::int64_t min_runtime = 0;  // seconds, for pods without the annotation
    std::int64_t now = 0;          // seconds since 1970
  };
  // Returns the minimum number of members of a gang, from the object that the reference names.
  using Least = std::function<Result<std::uint32_t>(const MinMemberRef&)>;

  // `catalog` and `cache` outlive it. The caller sets each node and pod in `cache` first.
  SchedulingDryRun(const vendors::Catalog& catalog, SchedulerCache& cache, Options options);
  ~SchedulingDryRun();

  void setQueue(kube::Queue queue);
  void setNamespace(const kube::Meta& meta);
  void setBudget(kube::DisruptionBudget budget);
  void removeQueue(const std::string& name);
  void removeNamespace(const std::string& name);
  void removeBudget(const std::string& uid);
  // Sets the instant of decisions; seconds since 1970.
  void setNow(std::int64_t now);
  // For a caller that may not read queues: no queue limits a pod.
  void withoutQueues();
  // For a caller that may not read namespaces: a pod belongs to the queue that it names.
  void withoutNamespaces();
  // Adds or replaces a pod. `created`: creation timestamp of its object. kUsage names an unreadable
  // part. If that part is a protection annotation or a resource quantity, the pod is no victim.
  Result<void> setPod(const kube::Pod& pod, const std::string& created);
  void removePod(const std::string& uid);
  // Removes an evicted pod. Its disruption budgets allow one eviction less.
  void evicted(const std::string& uid);

  // Puts `pods` behind the scheduling gate together, with the pods of their gangs that already wait
  // there. Reserves devices for the pods that may start now.
  void arrive(std::span<const kube::Pod> pods, const Least& least);
  // Returns why the pod stays behind the gate. Empty: it may start, or was never behind the gate.
  std::string gated(const std::string& uid) const;
  // Undoes arrive() for the pod and its gang, reservations included.
  void leave(const std::string& uid);
  // Filters as SchedulerCache::filterAndReserve. A pod that came through the gate gets its
  // reservation, within its queue.
  Result<FilterResult> filter(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // Records that the pod runs on `node`. From then on it may be a victim.
  void place(const kube::Pod& pod, const std::string& node);

  // Returns the cheapest victims on one of `nodes`: the nodes that would fit if other pods held
  // nothing there. Errors: as PodQueries::readRequest and the engine.
  Result<Victims> whoEnds(const kube::Pod& pod, std::span<const std::string> nodes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
