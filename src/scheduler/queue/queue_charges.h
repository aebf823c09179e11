// Charges of queues for pods with devices: gated pods with a reservation, and running pods.
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

  // The queue of a pod: that of its reservation once its gate is removed, else the one that the pod
  // or its namespace names. Empty: none. kUsage: no such queue.
  Result<std::string> queueOf(const QueuedPod& queued) const;
  // Charges `queue` for the pod's allocation in the cache. Empty: no queue.
  void charge(const std::string& uid, const std::string& queue);
  // Charges the queue of a pod that is bound and not in the table.
  void chargeUngated(const kube::Pod& pod);
  void discharge(const std::string& uid) { queues_.discharge(uid); }
  // Ends reservations, and their charges.
  void release(const QueuedPods::Uids& uids);
  // Forgets a pod.
  void remove(const std::string& uid);
  // Returns why the quota of its queue refuses the pod's allocation in the cache, if that is more
  // than is charged. Empty: the quota accepts it, and a larger amount is now charged.
  std::string overQuota(const std::string& uid);
  // Computes the use of queues again, after a change of queues, namespaces or devices.
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
