// The gate controller: watches queues and namespaces, removes scheduling gates and writes the
// status of queues. Only the leader writes. Private.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "annotations/queue_assignment.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "preemption/gated_preemption.h"
#include "preemption/preemption_controller.h"
#include "queue/gated_pod_queue.h"
#include "quota/queue_tree.h"
#include "runtime/cluster_observer.h"
#include "runtime/lease_watcher.h"

namespace divvy::scheduler {

// For the client's thread only. All arguments outlive it.
class GateController : public ClusterObserver {
 public:
  struct Options {
    std::chrono::seconds reservation{};    // time for which a reservation holds
    std::function<std::string()> why_not;  // why this replica does not schedule now; empty: it does
    std::int64_t min_runtime = 0;          // seconds, for pods without the annotation
    bool deprecated_names = true;          // pods get the annotations of the release before, too
  };
  GateController(boost::asio::any_io_executor executor, kube::Client& client,
                 const vendors::Catalog& catalog, SchedulerCache& cache,
                 const LeaseWatcher& election, Options options, PreemptionController& preemptor,
                 PreemptionCounts& counts, const bool* stopped);

  // Starts the informers and the periodic work. Call once.
  void start();
  void onPodUpdate(const kube::Pod& pod) override;
  // As GatedPodQueue::overQueueQuota.
  std::string overQueueQuota(const std::string& uid) { return gated_pods_.overQueueQuota(uid); }
  void onPodDelete(const std::string& uid) override;
  void onNodeUpdate(const kube::Node&) override { nodes_changed_ = true; }
  void onNodeDelete(const std::string&) override { nodes_changed_ = true; }
  // Drops plans of the term before. Reservations are restored from annotations.
  void takeOver() {
    gated_preemption_.forget();
    gated_pods_.reset();
  }

  // For decisions on workloads whose pods come later. They live as long as this object.
  struct WorkloadParts {
    WorkloadReservations& reservations;
    GatedPreemption& preemption;
    std::function<bool(const std::string& gang)> has_gang;  // whether pods of the gang are there
    // Restores reservations that are written in pods; whether that is done.
    std::function<bool()> settled;
  };
  WorkloadParts workloadParts();

  // For the webhook: returns the queue of a new pod, and whether it gets the gate. Empty queue and
  // no gate: the pod is left as it is. kUsage: the gang or the queue is not accepted.
  Result<QueueAssignment> admit(const kube::Pod& pod) const;
  // Returns true for a pod that /filter passes to filterAndReserve() here: of a queue or a gang.
  bool knows(const std::string& uid);
  // As GatedPodQueue::filterAndReserve.
  Result<FilterResult> filterAndReserve(const kube::Pod& pod,
                                        std::span<const std::string_view> nodes,
                                        engine::Instant expires);
  // Returns true once namespaces are listed, and queues are listed or the cluster has none.
  bool known() const { return queues_known_ && namespaces_known_; }

 private:
  void followQueues();
  void followNamespaces();
  void reconcileSoon();
  bool ready();
  engine::Instant expiry() const;
  boost::asio::awaitable<void> reconcile();
  boost::asio::awaitable<void> tick();
  boost::asio::awaitable<void> openOne(GateRemoval opening);
  boost::asio::awaitable<void> requeue(PodRef pod);
  boost::asio::awaitable<void> readLeast(MinMemberRef in);
  boost::asio::awaitable<void> publishStatus();
  kube::QueueStatus statusNow(const std::string& queue, const std::vector<GatedPodStatus>& waiting);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const LeaseWatcher& election_;
  Options options_;
  const bool* stopped_;
  QueueTree queues_;
  GatedPreemption gated_preemption_;
  NodeResourcesFit node_resources_;
  GatedPodQueue gated_pods_;
  kube::Informer queue_informer_, namespace_informer_;
  std::map<std::string, std::string> queue_names_;  // by UID
  bool queues_known_ = false, namespaces_known_ = false;
  bool absent_said_ = false;
  bool looking_ = false, telling_ = false;
  bool nodes_changed_ = true;
  std::set<std::string> reading_;  // paths of objects in reading for a minimum number of members
  std::map<std::string, kube::QueueStatus> told_;  // last written or observed status, by queue
};

}  // namespace divvy::scheduler
