// Reserves devices for gated pods: for a single pod, or for enough members of a gang. Checks the
// quota of their queue, and for gangs CPU, memory and pod count of nodes. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/units.h"
#include "preemption/node_resources_fit.h"
#include "queue/gang_planner.h"
#include "queue/queue_charges.h"
#include "queue/queued_pods.h"
#include "queue/workload_reservations.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Not thread-safe. All arguments outlive it.
class ReservationPlanner {
 public:
  struct Parts {
    SchedulerCache& cache;
    QueueTree& queues;
    QueuedPods& pods;
    QueueCharges& charges;
    const NodeResourcesFit* node_resources;  // none: CPU, memory and pod count are not checked
  };
  explicit ReservationPlanner(const Parts& parts)
      : parts_(parts),
        gang_planner_(parts.cache, parts.node_resources),
        workloads_(parts.cache, parts.node_resources, [this] { return parts_.pods.unbound(); }) {}
  ReservationPlanner(const ReservationPlanner&) = delete;
  ReservationPlanner& operator=(const ReservationPlanner&) = delete;

  // Reservations for gangs whose pods come later. Their pods get them by the following functions.
  WorkloadReservations& workloadReservations() { return workloads_; }

  // Sets the fence of the leader's term, which reservations from then on carry.
  void setTerm(const std::string& term) { term_ = term; }

  // `expires` in the following functions: when the reservations end.
  //
  // Reserves devices for all these pods, which are of one queue, or for none. kNoRoom: capacity or
  // quota lacks. kUsage: the pods can never start.
  Result<void> plan(const QueuedPods::Uids& uids, engine::Instant expires);
  // Reserves devices for members of the gang without a reservation: for all of them, else for as
  // many as have to start together. Where that fails, ends all reservations of the gang and tries
  // once more for all members. Errors as plan().
  Result<void> planGang(const Gang& gang, engine::Instant expires);

 private:
  struct Members {
    QueuedPods::Uids with, without;  // a reservation
  };

  Result<void> reserveAll(const QueuedPods::Uids& uids, engine::Instant expires);
  Result<void> reserveMembers(const Gang& gang, const Members& members, std::uint32_t least,
                              engine::Instant expires);

  Result<std::string> queueOfAll(const QueuedPods::Uids& uids) const;
  Result<std::vector<Reservation>> reserve(const std::vector<kube::Pod>& pods,
                                           const std::vector<std::string>& without_models,
                                           engine::Instant expires);
  bool isOfStartingGang(const kube::Pod& pod) const;
  void commit(const QueuedPods::Uids& uids, const std::string& queue,
              const std::vector<Reservation>& planned);
  Members freeMembers(const Gang& gang) const;

  Parts parts_;
  GangPlanner gang_planner_;
  WorkloadReservations workloads_;
  std::string term_;
  std::uint64_t plans_ = 0;  // number of plans, part of a reservation's epoch
};

}  // namespace divvy::scheduler
