// Reservations for workloads of Kueue whose pods are not there yet. Pure. Private.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "queue/gang_planner.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Pods that start together: `gang` is their key, as in QueuedPod.
struct ExpectedGang {
  std::string gang;
  std::vector<kube::Pod> pods;  // each with a UID of its own
};

// Not thread-safe. Reservations end at their expiry in the cache, too.
class WorkloadReservations {
 public:
  using Pods = std::vector<const kube::Pod*>;

  // `cache` and `node_resources` outlive it. `others`: returns pods that are not bound yet and take
  // CPU and memory where they have a reservation.
  WorkloadReservations(SchedulerCache& cache, const NodeResourcesFit* node_resources,
                       std::function<Pods()> others)
      : cache_(cache), gang_planner_(cache, node_resources), others_(std::move(others)) {}

  // Reserves devices for all pods of the workload with this UID, or for none, until `expires`. Ends
  // its earlier reservations first. kNoRoom: they do not fit now; other errors: as
  // SchedulerCache::plan().
  Result<void> reserve(const std::string& workload, std::vector<ExpectedGang> gangs,
                       engine::Instant expires);
  void release(const std::string& workload);
  // Ends all reservations.
  void releaseAll();
  // Returns whether all pods of the workload that are still expected have a reservation.
  bool holds(const std::string& workload) const;
  // Returns whether pods of this gang are expected.
  bool expects(const std::string& gang) const { return gangs_.contains(gang); }
  // Tries to reserve devices for each of `workloads` in turn, beside those before it that fit, and
  // ends these reservations again. Before each one but the first it calls `over`; true: the rest
  // are not tried. Returns as reserve() for each workload that was tried.
  std::vector<Result<void>> tryInTurn(const std::vector<std::vector<ExpectedGang>>& workloads,
                                      const std::function<bool()>& over);
  // Adds the expected pods to `all`. Valid until the next change.
  void addPods(Pods* all) const;

  // Ends reservations of the gang, for `pods` pods that are there now and are about to be reserved.
  // An unknown gang is ignored.
  void handOver(const std::string& gang, std::size_t pods);
  // Ends a handOver(). `reserved`: the pods have reservations now. If not, those that handOver()
  // ended are made again, as far as they fit.
  void endHandOver(const std::string& gang, bool reserved);

 private:
  struct Expected {
    std::string workload;
    std::vector<kube::Pod> pods;
    std::size_t in_hand_over = 0;  // of the last of these pods
    engine::Instant expires{};
  };

  SchedulerCache& cache_;
  GangPlanner gang_planner_;
  std::function<Pods()> others_;
  std::map<std::string, Expected> gangs_;  // by key
};

}  // namespace divvy::scheduler
