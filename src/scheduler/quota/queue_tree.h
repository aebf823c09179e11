// The queues of a cluster: who is of which, what each has, and who may have more. Pure. Private.
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

// For one thread. A queue that cannot be right is not in force, and neither are those below it:
// what they are given counts as nobody's.
class QueueTree {
 public:
  void set(kube::Queue queue);
  void remove(const std::string& name);
  // What a namespace says of its own; empty: nothing. Whether that is another than before.
  bool setSpace(const std::string& space, const std::string& queue);
  void removeSpace(const std::string& space) { spaces_.erase(space); }
  bool empty() const { return queues_.empty(); }
  const std::map<std::string, kube::Queue>& all() const { return queues_; }

  // Of which queue a pod of that namespace is that names one, or none (empty). Empty: of none.
  // kNotFound: there is no such queue; kUsage: it is not for that namespace.
  Result<std::string> queueFor(const std::string& space, const std::string& named) const;

  // As the queue, or the nearest one above it that does, says; empty: none does.
  std::string poolOf(const std::string& queue) const;

  void setCapacity(const std::vector<ModelUsage>& capacity);
  // What a pod has, of that queue or of none (empty), instead of what it had before.
  // What decides who gives back first.
  struct ReclaimOrder {
    std::int64_t priority = 0;
    std::int64_t since = 0;  // seconds since 1970
    std::string group;       // they end together; empty: on its own
    friend bool operator==(const ReclaimOrder&, const ReclaimOrder&) = default;
  };
  struct QueueCharge {
    std::string queue;
    std::vector<ModelUsage> use;
    ReclaimOrder standing;
    friend bool operator==(const QueueCharge&, const QueueCharge&) = default;
  };
  void charge(const std::string& uid, QueueCharge held);
  void discharge(const std::string& uid);
  bool charged(const std::string& uid) const { return held_.contains(uid); }
  const std::unordered_map<std::string, QueueCharge>& held() const { return held_; }  // by UID

  // Whether pods of that queue may have so much more, together. None: they may.
  struct QuotaRefusal {
    std::string why;
    std::string model;  // as a queue says it; empty: no other model would help
  };
  std::optional<QuotaRefusal> checkQuota(const std::string& queue,
                                         const std::vector<ModelUsage>& use);

  // Pods that may be asked to end so that pods of that queue may have so much more (none:
  // anything), in the order in which they are asked, groups as one; as engine::Quota::givers.
  using Groups = std::vector<std::vector<std::string>>;
  Groups reclaimable(const std::string& queue, const std::optional<std::vector<ModelUsage>>& use,
                     const engine::ReclaimTerms& options);
  // Within its guarantee it may take back what others borrowed.
  bool reclaims(const std::string& queue) const;

  // Whose turn it is. kNotFound does not happen: a queue that is not in force counts as nobody's.
  struct QueueHead {
    std::string queue;
    std::int64_t milli = 0;  // about
    std::int64_t mebibytes = 0;
    std::int64_t priority = 0;
    std::int64_t since = 0;
  };
  std::size_t next(const std::vector<QueueHead>& waiting);  // one at least

  // Why it is not in force; empty: it is, or there is none.
  std::string fault(const std::string& queue);
  // Of its own pods: how many have something.
  std::size_t running(const std::string& queue) const;
  // Of each model that the queue speaks of, and of all ("*"); with the queues below it.
  std::vector<kube::QueueAmount> used(const std::string& queue);

  // As patterns of queues have it.
  static bool matches(const std::string& pattern, const std::string& model);

 private:
  // As matches(), which is asked once for each pattern and model: sums ask it for every pod.
  bool counts(const std::string& pattern, const std::string& model) const;
  void rebuild();
  void enter(const std::string& name);
  engine::Queue inEngine(const kube::Queue& queue) const;
  engine::Amounts amountsOf(const std::vector<ModelUsage>& use) const;
  engine::QueueName forced(const std::string& queue) const;
  void book(const std::string& uid, const QueueCharge& held);
  std::string textOf(const engine::QuotaRefusal& refusal) const;

  std::map<std::string, kube::Queue> queues_;
  std::map<std::string, std::string> spaces_;
  std::vector<ModelUsage> capacity_;
  std::unordered_map<std::string, QueueCharge> held_;  // by UID of the pod
  // Made of the above when it is asked for.
  bool stale_ = true;
  engine::Quota quota_;
  std::map<std::string, std::string> faults_;
  std::set<std::pair<std::string, bool>> measured_;  // models as queues say them; of memory
  mutable std::map<std::string, std::map<std::string, bool>> matched_;  // by pattern and model
};

}  // namespace divvy::scheduler
