// Queues that share a capacity: guarantees, limits, borrowing, and reclaim.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/name.h"
#include "base/result.h"

namespace divvy::engine {

using QueueName = Name<struct QueueNameKind>;
// The caller's names: "H100/compute", "H100/memory".
using ResourceName = Name<struct ResourceNameKind>;
using JobName = Name<struct JobNameKind>;

// In each resource's own unit; missing resources are 0.
using Amounts = std::map<ResourceName, std::int64_t>;

struct Queue {
  QueueName name;
  QueueName parent;  // empty: directly below the root
  // Amounts that it and the queues below it can always have; lent while unused. Its own jobs may
  // use the guarantees of queues below it, and do not give those back.
  Amounts guarantee;
  Amounts limit;            // most that they can have; missing resources have no limit
  bool borrows = true;      // may have more than its guarantee while other queues leave it unused
  std::int64_t weight = 1;  // of amounts beyond guarantees, against its siblings; 1 to 1,000,000
};

// A unit of allocation in a queue: all of it is given back, or nothing.
struct Job {
  JobName name;
  QueueName queue;
  Amounts amounts;
  std::int64_t priority = 0;  // higher is more important
  std::int64_t since_ms = 0;  // on the caller's clock
  std::string group = {};     // jobs of a group are given back all or none; empty: no group
};

enum class QuotaWhy : std::uint8_t {
  kLimit,      // limit of `queue`
  kBorrowing,  // more than the guarantee of `queue`, which must not borrow
  kFull,       // more than the capacity, or other queues have it by right
};

struct QuotaRefusal {
  QuotaWhy why = QuotaWhy::kFull;
  QueueName queue;  // empty: the root
  ResourceName resource;
  std::int64_t needed = 0;
  std::int64_t available = 0;
  friend bool operator==(const QuotaRefusal&, const QuotaRefusal&) = default;
};
std::string text(const QuotaRefusal& refusal);

struct Admission {
  std::optional<QuotaRefusal> refusal;  // none: admitted
  bool borrowed = false;                // some of it is beyond the queue's own guarantee
  // Jobs of other queues that must end first, all of them: they hold borrowed amounts. Lowest
  // priority first.
  std::vector<JobName> reclaim;
};

// Which jobs may be asked to give back, where jobs are really ended.
struct ReclaimOptions {
  std::set<JobName> spared;                    // never asked
  std::optional<std::set<JobName>> only = {};  // only these may be asked; none: all
  // Borrowed amounts of other queues, if the request is within a guarantee.
  bool borrowed = true;
  // Jobs of lower priority than this, regardless of guarantees: all jobs of the queue itself, and
  // jobs of other queues that hold borrowed amounts.
  std::optional<std::int64_t> below = {};
  // True: all returned jobs may be asked at once. False: each of them may be asked, alone.
  bool together = true;
};

// A tree of queues and the amounts of their jobs. One thread at a time may use it. Equal contents
// give equal answers. Errors: kUsage (the message lists the accepted input) and kNotFound.
class Quota {
 public:
  // Sets the capacity to share. It may be less than the amounts in use or guaranteed.
  Result<void> setCapacity(const Amounts& capacity);
  const Amounts& capacity() const { return capacity_; }
  // Adds a queue or replaces a known one. Its parent must be known (kNotFound). Guarantees of
  // siblings sum to at most their parent's guarantee (unbounded below the root). A guarantee is at
  // most the limit.
  Result<void> setQueue(const Queue& queue);
  // Removes a queue without jobs and without queues below it. kUsage: it has some.
  Result<void> removeQueue(const QueueName& name);

  // Returns whether `queue` may have `amounts`. Changes nothing.
  Result<Admission> evaluate(const QueueName& queue, const Amounts& amounts) const;
  // Returns jobs that may be asked to end so that jobs of `queue` may have `amounts`, in the order
  // in which to ask them. The order: lowest priority first, then the youngest; jobs of a group
  // together. Unlike evaluate(), it leaves out jobs that their queue needs to have its
  // guarantee of the requested resources. It does not return how many are enough. An unknown
  // queue: none.
  std::vector<std::vector<JobName>> reclaimable(const QueueName& queue, const Amounts& amounts,
                                                const ReclaimOptions& terms) const;
  // Returns the waiting job to serve next. From the root down, a queue that stays within its
  // guarantee goes first, then the queue with the least beyond it by weight. Among equals: the
  // first by name. A queue's own jobs go before those of queues below it: highest priority first,
  // then the oldest. None: nothing waits.
  Result<std::optional<std::size_t>> next(const std::vector<Job>& waiting) const;

  // Records a job, admitted or not. kUsage: its name is taken.
  Result<void> add(const Job& job);
  // Returns whether the job was known.
  bool remove(const JobName& name);

  const Amounts& used(const QueueName& queue) const;  // with the queues below it; empty: the root
  const std::map<JobName, Job>& jobs() const { return jobs_; }
  // Guarantees of the queues directly below the root that exceed the capacity.
  Amounts overpromised() const;

 private:
  struct Node {
    Queue queue;
    Amounts used;
    std::vector<QueueName> children;  // ascending
  };
  class Reclaim;
  using Chain = std::vector<const Node*>;  // a queue, its parent, ..., the root

  Chain chainOf(const QueueName& queue) const;
  std::optional<QuotaRefusal> refusedFor(const Chain& chain, const Amounts& amounts) const;
  std::vector<JobName> victimsFor(const Chain& chain, const Amounts& amounts) const;
  std::pair<bool, double> excessOf(const Node& node, const Amounts& more) const;
  Result<void> check(const Queue& queue) const;
  void charge(const Job& job, int sign);

  Amounts capacity_;
  std::map<QueueName, Node> nodes_{{QueueName(), Node{}}};
  std::map<JobName, Job> jobs_;
};

}  // namespace divvy::engine
