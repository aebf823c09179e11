// Which of the pods that wait at our gate may start: those of queues when there is room for them in
// their queue and on the devices, those of gangs when there is for all of them. Pure. Private.
//
// Crash safety: a pod's promise is written in the same call that takes its gate away. A gang's
// gates go one by one, and gates cannot be put back; so a pod without its gate is still held back
// at /filter until none of those who were promised a place together has one any more. Whoever takes
// over reads who was promised what and keeps it; if the rest finds no room any more, all of it is
// given back: nobody is bound, and the gang is planned anew, whole.
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

// A gate that may go, and what has to be written with it.
struct GateRemoval {
  std::string space, name, uid;
  std::string plan;  // empty: nothing
};

// Who waits, and for what.
struct GatedPodStatus {
  std::string space, name, uid;
  std::string queue;  // empty: of none
  std::string why;
};

// For one thread. SchedulerCache and queues outlive it; it is told of pods after the books are.
class GatedPodQueue {
 public:
  GatedPodQueue(const vendors::Catalog& catalog, SchedulerCache& cache, QueueTree& queues);

  // Whom to ask for room where there is none, and for what nodes have beside devices: both outlive
  // this.
  void clearBy(GatedPreemption* clearances) { clearances_ = clearances; }
  void countBy(const NodeResourcesFit* node_resources) { node_resources_ = node_resources; }

  // `created`: as its object says it; sorts.
  void setPod(const kube::Pod& pod, const std::string& created);
  // Why a pod may not have what is booked for it, for its queue's sake, where that is more than it
  // had; empty: it may.
  std::string overQueueQuota(const std::string& uid);
  void removePod(const std::string& uid);
  // How many members a gang has at least, by what PodGroupRef::in names; an error: why that is not
  // known.
  void setMinMember(const MinMemberRef& in, Result<std::uint32_t> least);
  // Gangs that wait for that.
  std::vector<MinMemberRef> unknownMinMembers() const;

  // What we promised is not ours any more, until settle: then what is written of it is booked
  // again. `expires` in all of these: of what is promised.
  void reset() { settled_ = false; }
  bool settled() const { return settled_; }
  void restoreReservations(engine::Instant expires);

  // Those who may start now; `term` is that in which we lead. Each is told of until opened or
  // notOpened says what became of it.
  std::vector<GateRemoval> open(std::size_t most, const std::string& term, engine::Instant expires);
  void opened(const std::string& uid);
  void notOpened(const std::string& uid, const std::string& why);

  bool knows(const std::string& uid) const { return queued_.contains(uid); }
  // For /filter, as SchedulerCache::choose. A pod that was promised a place gets that.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // Pods that were held back at /filter, and need not be any more: once.
  std::vector<PodRef> released();

  // As of the last look.
  std::vector<GatedPodStatus> waiting() const;
  // What queues there are, who uses them, or what devices there are is another now.
  void recount();
  // Something happened since the last look.
  bool changed() const { return stirred_; }
  void markChanged() { stirred_ = true; }

 private:
  struct QueuedPod {
    kube::Pod pod;
    std::string created;
    std::string alike;  // pods of which it is the same fit the same
    bool devices = false;
    std::optional<PodGroupRef> words;
    std::string gang;   // key of it; empty: of none
    std::string fault;  // why it can never start
    std::optional<ReservationAnnotation> plan;
    unsigned late = 0;  // as often it was promised a place and did not come
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
    bool started = false;           // once one of them was bound
  };
  using Uids = std::vector<std::string>;
  // Starts as one.
  struct Workload {
    Uids pods;
    std::string gang;  // empty: a pod of its own
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
  std::map<std::string, QueuedPod> queued_;  // by UID: at our gate, or of a gang, or promised
  // By UID: other pods that hold devices.
  struct UngatedPod {
    std::string space, named;  // the queue that it names
    QueueTree::ReclaimOrder standing;
  };
  std::unordered_map<std::string, UngatedPod> ungated_;
  std::map<std::string, Gang> gangs_;
  std::map<std::string, Result<std::uint32_t>> least_;  // by path of the object that says it
  std::string term_;
  std::uint64_t plans_ = 0;
  GatedPreemption* clearances_ = nullptr;
  const NodeResourcesFit* node_resources_ = nullptr;
  bool settled_ = false;
  bool stirred_ = true;
};

}  // namespace divvy::scheduler
