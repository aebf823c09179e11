// The queue tree: the queue of a pod, the use of each queue, and whether it may use more.
// Pure. Private.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/quota.h"
#include "kube/queue.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Not thread-safe. An invalid queue is not in force, and neither are the queues below it:
// allocations of their pods count for no queue.
class QueueTree {
 public:
  void set(kube::Queue queue);
  void remove(const std::string& name);
  // Sets the default queue of a namespace; empty: none. Returns true if it changed.
  bool setNamespaceQueue(const std::string& namespace_name, const std::string& queue);
  void removeNamespace(const std::string& namespace_name) {
    namespace_queues_.erase(namespace_name);
  }
  bool empty() const { return queues_.empty(); }
  const std::map<std::string, kube::Queue>& all() const { return queues_; }

  // Returns the queue of a pod of the namespace. `named`: queue that the pod names; empty: none.
  // Empty: the pod is in no queue. kNotFound: there is no such queue; kUsage: the queue is not for
  // the namespace.
  Result<std::string> queueFor(const std::string& namespace_name, const std::string& named) const;

  // Returns the pool of the queue, or of the nearest queue above with a pool; empty: none has one.
  std::string poolOf(const std::string& queue) const;

  // Sets the capacity of all devices of the cluster.
  void setCapacity(const std::vector<ModelUsage>& capacity);
  // Decides which pods are reclaimed first.
  struct ReclaimOrder {
    std::int64_t priority = 0;
    std::int64_t since = 0;  // start of the pod, seconds since 1970
    std::string group;       // key of the gang, which is evicted as a whole; empty: none
    friend bool operator==(const ReclaimOrder&, const ReclaimOrder&) = default;
  };
  struct QueueCharge {
    std::string queue;  // empty: none
    std::vector<ModelUsage> use;
    ReclaimOrder standing;
    friend bool operator==(const QueueCharge&, const QueueCharge&) = default;
  };
  // Charges a pod's allocation to its queue. Replaces the pod's earlier charge.
  void charge(const std::string& uid, QueueCharge held);
  void discharge(const std::string& uid);
  bool charged(const std::string& uid) const { return held_.contains(uid); }
  const std::unordered_map<std::string, QueueCharge>& held() const { return held_; }  // by UID

  struct QuotaRefusal {
    std::string why;
    std::string model;  // pattern of the queue; empty: devices of another model would not help
  };
  // Returns why the queue may not use `use` in addition to its charges. None: it may.
  std::optional<QuotaRefusal> checkQuota(const std::string& queue,
                                         const std::vector<ModelUsage>& use);

  // Returns the UIDs of pods that may be evicted for the queue, so that it may use `use` in
  // addition. `use`: none: any amount. The groups are in the order of eviction; each gang is one
  // group. As engine::Quota::givers.
  using Groups = std::vector<std::vector<std::string>>;
  Groups reclaimable(const std::string& queue, const std::optional<std::vector<ModelUsage>>& use,
                     const engine::ReclaimOptions& options);
  // Returns true if the queue may reclaim its guarantee from queues that borrowed it.
  bool reclaims(const std::string& queue) const;

  // The next workload of a queue.
  struct QueueHead {
    std::string queue;
    std::int64_t milli = 0;  // request, approximate: thousandths of a device's compute
    std::int64_t mebibytes = 0;
    std::int64_t priority = 0;
    std::int64_t since = 0;  // order of arrival
  };
  // Returns the index in `waiting` of the workload to admit next. `waiting`: at least one.
  std::size_t next(const std::vector<QueueHead>& waiting);

  // Returns why the queue is not in force; empty: it is, or there is no such queue.
  std::string fault(const std::string& queue);
  // Returns the number of the queue's own pods with a charge.
  std::size_t running(const std::string& queue) const;
  // Returns the use of the queue and the queues below it: of each model in its terms, and of all
  // models ("*"). The queue exists.
  std::vector<kube::QueueAmount> used(const std::string& queue);

  // Returns true if a model pattern of a queue matches the model.
  static bool matches(const std::string& pattern, const std::string& model);

 private:
  // As matches(), cached by pattern and model, because sums call it for each pod.
  bool counts(const std::string& pattern, const std::string& model) const;
  void rebuild();
  void enter(const std::string& name);
  engine::Queue inEngine(const kube::Queue& queue) const;
  engine::Amounts amountsOf(const std::vector<ModelUsage>& use) const;
  engine::QueueName forced(const std::string& queue) const;
  void book(const std::string& uid, const QueueCharge& held);
  std::string textOf(const engine::QuotaRefusal& refusal) const;

  std::map<std::string, kube::Queue> queues_;
  std::map<std::string, std::string> namespace_queues_;  // default queue by namespace
  std::vector<ModelUsage> capacity_;
  std::unordered_map<std::string, QueueCharge> held_;  // by UID of the pod
  // Computed from the members above on demand, after a change.
  bool stale_ = true;
  engine::Quota quota_;
  std::map<std::string, std::string> faults_;
  std::set<std::pair<std::string, bool>> measured_;  // model patterns of queues; true: of memory
  mutable std::map<std::string, std::map<std::string, bool>> matched_;  // by pattern and model
};

}  // namespace divvy::scheduler
