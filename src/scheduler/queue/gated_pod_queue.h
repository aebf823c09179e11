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
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotations/reservation_annotation.h"
#include "engine/units.h"
#include "kube/pod.h"
#include "preemption/gated_preemption.h"
#include "preemption/node_resources_fit.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// A gate to remove, and the annotation to write with it.
struct GateRemoval {
  std::string space, name, uid;
  std::string plan;  // value of kPlanKey; empty: none
};

// A pod that waits, and why.
struct GatedPodStatus {
  std::string space, name, uid;
  std::string queue;  // empty: none
  std::string why;
};

// Not thread-safe. `catalog`, `cache` and `queues` outlive it. Callers set each pod in `cache`
// first.
class GatedPodQueue {
 public:
  GatedPodQueue(const vendors::Catalog& catalog, SchedulerCache& cache, QueueTree& queues);

  // Sets the gated preemption to use where capacity lacks. It outlives this. Default: none.
  void clearBy(GatedPreemption* clearances) { clearances_ = clearances; }
  // Sets the check of CPU, memory and pod count for gangs. It outlives this. Default: none.
  void countBy(const NodeResourcesFit* node_resources) { node_resources_ = node_resources; }

  // Adds or updates a pod. `created`: creation timestamp of the object, RFC 3339; pods are sorted
  // by it.
  void setPod(const kube::Pod& pod, const std::string& created);
  // Returns why the quota of its queue refuses what the cache holds for the pod, if that is more
  // than is charged. Empty: the quota accepts it, and a larger amount is now charged.
  std::string overQueueQuota(const std::string& uid);
  void removePod(const std::string& uid);
  // Sets the minimum number of members that `in` names, or the error why it is not known.
  void setMinMember(const MinMemberRef& in, Result<std::uint32_t> least);
  // Returns the references for which gangs wait.
  std::vector<MinMemberRef> unknownMinMembers() const;

  // `expires` in the following functions: when the reservations that they make end.
  //
  // Records that reservations may be lost or of another leader. No gate opens until
  // restoreReservations().
  void reset() { settled_ = false; }
  bool settled() const { return settled_; }
  // Reserves again what reservation annotations of pods say.
  void restoreReservations(engine::Instant expires);

  // Returns up to `most` gates to remove, more for a gang, and reserves devices for their pods.
  // `term`: fence of the leader's term. The caller reports each result by opened() or notOpened();
  // until then the pod is not returned again.
  std::vector<GateRemoval> open(std::size_t most, const std::string& term, engine::Instant expires);
  void opened(const std::string& uid);
  void notOpened(const std::string& uid, const std::string& why);

  // Returns true for a pod that is gated, is of a gang (readable or not) or has a reservation
  // annotation.
  bool knows(const std::string& uid) const { return queued_.contains(uid); }
  // For /filter, as SchedulerCache::filterAndReserve. A pod with a reservation gets that.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // Returns pods that /filter held back and would not hold back now. Each is returned once.
  std::vector<PodRef> released();

  // Returns the pods that wait, with the reasons of the last open() or filterAndReserve().
  std::vector<GatedPodStatus> waiting() const;
  // Computes again what queues use, after a change of queues, namespaces or devices.
  void recount();
  // Returns true if the next open() may find other gates than the last one.
  bool changed() const { return stirred_; }
  void markChanged() { stirred_ = true; }

 private:
  struct QueuedPod {
    kube::Pod pod;
    std::string created;
    std::string alike;  // equal for pods that fit equally
    bool devices = false;
    std::optional<PodGroupRef> words;
    std::string gang;   // key of the gang; empty: none
    std::string fault;  // why it can never start
    std::optional<ReservationAnnotation> plan;
    unsigned late = 0;  // number of its reservations that expired
    bool opened = false;
    bool opening = false;
    bool held_back = false;
    std::string why;
    bool bound() const { return !pod.node.empty(); }
    bool gated() const { return isGated(pod) && !opened; }
    bool free() const { return !bound() && !pod.ended() && !pod.meta.deleting; }
  };
  struct Gang {
    std::set<std::string> members;  // UIDs
    bool started = false;           // a member was bound
  };
  using Uids = std::vector<std::string>;
  // A pod or a gang, which starts as a whole.
  struct Workload {
    Uids pods;
    std::string gang;  // empty: a single pod
    std::string queue, alike;
    std::int64_t priority = 0;
    std::int64_t since = 0;
    const std::string& key() const { return gang.empty() ? pods.front() : gang; }
  };

  Result<std::string> queueOf(const QueuedPod& queued) const;
  Result<std::uint32_t> minMemberOfGang(const Gang& gang) const;
  bool reserved(const std::string& uid) const { return cache_.nodeOf(uid).has_value(); }
  std::string holdsBack(const Gang& gang) const;
  void chargeFor(const std::string& uid, const std::string& queue);
  void chargeUngated(const std::string& uid);
  void unreserveAll(const Uids& uids);
  void expireReservations();
  void explain(const Workload& workload, const std::string& why);

  Result<void> plan(const Uids& uids, engine::Instant expires);
  Result<std::vector<Reservation>> places(const std::vector<kube::Pod>& pods,
                                          const std::vector<std::string>& without,
                                          engine::Instant expires);
  std::vector<std::size_t> withoutRoom(const std::vector<kube::Pod>& pods,
                                       const std::vector<Reservation>& places) const;
  Result<void> planGang(const Gang& gang, engine::Instant expires);
  void sortMembers(Uids* uids) const;
  void dropPreemption(const Workload& workload);
  std::optional<std::string> requestPreemption(const Workload& workload);
  std::vector<Workload> workloads();
  Workload workloadOf(const Uids& pods, const std::string& gang);
  Result<void> tryWorkload(const Workload& workload, engine::Instant expires,
                           std::vector<GateRemoval>* out);
  void openGate(const std::string& uid, std::vector<GateRemoval>* out);
  FilterResult refusedEverywhere(std::span<const std::string_view> nodes,
                                 const std::string& why) const;

  const vendors::Catalog& catalog_;
  SchedulerCache& cache_;
  QueueTree& queues_;
  std::map<std::string, QueuedPod> queued_;  // by UID: gated, of a gang, or with a reservation
  // Other pods with devices, by UID.
  struct UngatedPod {
    std::string space, named;  // namespace, and queue that the pod names
    QueueTree::ReclaimOrder standing;
  };
  std::unordered_map<std::string, UngatedPod> ungated_;
  std::map<std::string, Gang> gangs_;
  std::map<std::string, Result<std::uint32_t>> least_;  // by path of the object that states it
  std::string term_;
  std::uint64_t plans_ = 0;
  GatedPreemption* clearances_ = nullptr;
  const NodeResourcesFit* node_resources_ = nullptr;
  bool settled_ = false;
  bool stirred_ = true;
};

}  // namespace divvy::scheduler
