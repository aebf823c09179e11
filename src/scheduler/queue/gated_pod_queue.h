// The gated pod queue: pods behind the scheduling gate, and which of them may start. A pod of a
// queue may start when its queue's quota and the devices allow it; a gang when they allow all of
// it. Pure. Private.
//
// Crash safety: the call that removes a pod's gate also writes its reservation. The gates of a gang
// are removed one by one, and a gate cannot be put back. So /filter holds a pod without its gate
// back until no member of the gang with a reservation has its gate. The next leader reads the
// reservations and keeps them. If the remaining members no longer fit, it releases all of them: no
// member is bound, and the whole gang is planned again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/units.h"
#include "kube/pod.h"
#include "preemption/gated_preemption.h"
#include "preemption/node_resources_fit.h"
#include "queue/queue_charges.h"
#include "queue/queued_pods.h"
#include "queue/reservation_planner.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// A gate to remove, and the annotation to write with it.
struct GateRemoval {
  std::string namespace_name, name, uid;
  std::string plan;  // value of kReservationKey; empty: none
};

// A pod that waits, and why.
struct GatedPodStatus {
  std::string namespace_name, name, uid;
  std::string queue;  // empty: none
  std::string why;
};

// Not thread-safe. All parts outlive it. Callers set each pod in `cache` first.
class GatedPodQueue {
 public:
  struct Parts {
    const vendors::Catalog& catalog;
    SchedulerCache& cache;
    QueueTree& queues;
    // Evicts where capacity lacks. None: gated pods wait.
    GatedPreemption* preemption = nullptr;
    // The check of CPU, memory and pod count for gangs. None: they are not checked.
    const NodeResourcesFit* node_resources = nullptr;
  };
  explicit GatedPodQueue(const Parts& parts);
  GatedPodQueue(const GatedPodQueue&) = delete;
  GatedPodQueue& operator=(const GatedPodQueue&) = delete;

  // Adds or updates a pod. `created`: creation timestamp of the object, RFC 3339; pods are sorted
  // by it.
  void setPod(const kube::Pod& pod, const std::string& created);
  void removePod(const std::string& uid);
  // As QueueCharges::overQuota.
  std::string overQueueQuota(const std::string& uid) { return charges_.overQuota(uid); }
  // As QueuedPods::setMinMember.
  void setMinMember(const MinMemberRef& in, Result<std::uint32_t> least);
  // Pods that are gated, of a gang (readable or not), or with a reservation annotation.
  const QueuedPods& pods() const { return pods_; }
  // As ReservationPlanner::workloadReservations.
  WorkloadReservations& workloadReservations() { return planner_.workloadReservations(); }

  // `expires` in the following functions: when the reservations that they make end.
  //
  // Records that reservations may be lost or of another leader. No gate opens until
  // restoreReservations().
  void reset() { settled_ = false; }
  bool settled() const { return settled_; }
  // Reserves the placements of reservation annotations again.
  void restoreReservations(engine::Instant expires);

  // Returns up to `most` gates to remove, more for a gang, and reserves devices for their pods.
  // `term`: fence of the leader's term. The caller reports each result by opened() or notOpened();
  // until then the pod is not returned again.
  std::vector<GateRemoval> open(std::size_t most, const std::string& term, engine::Instant expires);
  void opened(const std::string& uid);
  void notOpened(const std::string& uid, const std::string& why);

  // For /filter, as SchedulerCache::filterAndReserve. A pod with a reservation gets that.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // Returns pods that /filter held back and would not hold back now. Each is returned once.
  std::vector<PodRef> released();

  // Returns the pods that wait, with the reasons of the last open() or filterAndReserve().
  std::vector<GatedPodStatus> waiting() const;
  // Computes the use of queues again, after a change of queues, namespaces or devices.
  void recount();
  // Returns true if the next open() may find other gates than the last one.
  bool changed() const { return changed_; }
  void markChanged() { changed_ = true; }

 private:
  // A pod or a gang, which starts as a whole.
  struct Workload {
    QueuedPods::Uids pods;
    std::string gang;  // empty: a single pod
    std::string queue, alike;
    std::int64_t priority = 0;
    std::int64_t since = 0;  // its place in the order of arrival
    const std::string& key() const { return gang.empty() ? pods.front() : gang; }
  };
  struct Arrival;
  // Pods that are alike, of one queue and priority: if the first does not fit, none does.
  using WorkloadClass = std::vector<Workload*>;

  void expireReservations();
  std::vector<Workload> workloads();
  void addSinglePods(std::vector<Arrival>* arrivals);
  void addGangs(std::vector<Arrival>* arrivals);
  Workload workloadOf(const QueuedPods::Uids& pods, const std::string& gang) const;
  bool admitNext(WorkloadClass* waiting, engine::Instant expires, std::vector<GateRemoval>* out);
  Result<void> tryWorkload(const Workload& workload, engine::Instant expires,
                           std::vector<GateRemoval>* out);
  void openGate(const std::string& uid, std::vector<GateRemoval>* out);
  void explain(const Workload& workload, const std::string& why);
  void dropPreemption(const QueuedPods::Uids& uids);
  std::optional<std::string> requestPreemption(const Workload& workload);

  Parts parts_;
  QueuedPods pods_;
  QueueCharges charges_;
  ReservationPlanner planner_;
  bool settled_ = false;
  bool changed_ = true;
};

}  // namespace divvy::scheduler
