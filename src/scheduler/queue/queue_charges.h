// What queues are charged for pods with devices: gated pods with a reservation, and running pods.
// Pure. Private.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "queue/queued_pods.h"
#include "quota/queue_tree.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Not thread-safe. All arguments outlive it.
class QueueCharges {
 public:
  QueueCharges(SchedulerCache& cache, QueueTree& queues, const QueuedPods& pods)
      : cache_(cache), queues_(queues), pods_(pods) {}

  // The queue of a pod: that of its reservation once its gate is removed, else what the pod and its
  // namespace name. Empty: none. kUsage: no such queue.
  Result<std::string> queueOf(const QueuedPod& queued) const;
  // Charges `queue` for what the cache holds for the pod. Empty: no queue.
  void charge(const std::string& uid, const std::string& queue);
  // Charges the queue of a pod that is bound and not in the table.
  void chargeUngated(const kube::Pod& pod);
  void discharge(const std::string& uid) { queues_.discharge(uid); }
  // Ends reservations, and what they are charged.
  void release(const QueuedPods::Uids& uids);
  // Forgets a pod.
  void remove(const std::string& uid);
  // Returns why the quota of its queue refuses what the cache holds for the pod, if that is more
  // than is charged. Empty: the quota accepts it, and a larger amount is now charged.
  std::string overQuota(const std::string& uid);
  // Computes again what queues use, after a change of queues, namespaces or devices.
  void recount();

 private:
  struct UngatedPod {
    std::string namespace_name, named;  // the queue that the pod names
    QueueTree::ReclaimOrder standing;
  };
  void chargeUngated(const std::string& uid);

  SchedulerCache& cache_;
  QueueTree& queues_;
  const QueuedPods& pods_;
  std::unordered_map<std::string, UngatedPod> ungated_;  // by UID
};

}  // namespace divvy::scheduler
