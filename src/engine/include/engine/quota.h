// Queues that share what there is: guarantees, limits, borrowing, and who gives back.
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
using ResourceName = Name<struct ResourceNameKind>;  // "H100/compute", "H100/memory": the caller's
using JobName = Name<struct JobNameKind>;

// In units of each resource's own; what is not there is 0.
using Amounts = std::map<ResourceName, std::int64_t>;

struct Queue {
  QueueName name;
  QueueName parent;  // empty: below the root
  // What it and the queues below it can always have; lent while unused. Jobs of its own may take
  // what it guarantees to queues below it, and do not give that back.
  Amounts guarantee;
  Amounts limit;            // the most that they can have; a resource that is not there has none
  bool borrows = true;      // may have more than its guarantee, of what others do not use
  std::int64_t weight = 1;  // of what is beyond guarantees, against its siblings; 1 to 1,000,000
};

// What a queue was given, as one: all of it is given back or nothing.
struct Job {
  JobName name;
  QueueName queue;
  Amounts amounts;
  std::int64_t priority = 0;  // more is higher
  std::int64_t since_ms = 0;  // on the caller's clock
  std::string group = {};     // all of a group are given back, or none; empty: on its own
};

enum class QuotaWhy : std::uint8_t {
  kLimit,      // of `queue`
  kBorrowing,  // more than the guarantee of `queue`, which must not borrow
  kFull,       // there is not so much, or others have it by right
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
  std::optional<QuotaRefusal> refusal;  // none: it may have it
  bool borrowed = false;                // some of it is beyond the queue's own guarantee
  // Jobs that have to end first, all of them: others' that are borrowed. Lowest priority first.
  std::vector<JobName> reclaim;
};

// Who may be asked to give back, where it is not only added up but done.
struct ReclaimTerms {
  std::set<JobName> spared;                    // nobody asks them
  std::optional<std::set<JobName>> only = {};  // nobody asks others than these; none: all may be
  // Others' that is borrowed, where what is asked for is within a guarantee.
  bool borrowed = true;
  // Whatever is guaranteed: jobs of lower priority than that, of the queue itself and, of what
  // they borrowed, of others.
  std::optional<std::int64_t> below = {};
  // All that are named may be asked at once. Else each of them may, alone.
  bool together = true;
};

// A tree of queues and what they have. For one thread at a time; equal contents give equal answers.
// Errors are kUsage (says what is accepted) and kNotFound.
class Quota {
 public:
  // What there is to share. May shrink below what is given, and below what is guaranteed.
  Result<void> setCapacity(const Amounts& capacity);
  const Amounts& capacity() const { return capacity_; }
  // A new queue, or what a known one is now. Its parent has to be known; guarantees of siblings add
  // up to no more than their parent's (of the root: to anything), a guarantee is within its limit.
  Result<void> setQueue(const Queue& queue);
  // One without jobs and without queues below it.
  Result<void> removeQueue(const QueueName& name);

  // Asking changes nothing.
  Result<Admission> ask(const QueueName& queue, const Amounts& amounts) const;
  // Jobs that may be asked to end so that jobs of `queue` may have `amounts`, in the order in which
  // they are asked: the lowest priority first, then the youngest; those of a group as one. Unlike
  // `ask` it names nobody without whom its queue would have less than its guarantee of what is
  // asked for, and does not say how many are enough. An unknown queue: none.
  std::vector<std::vector<JobName>> givers(const QueueName& queue, const Amounts& amounts,
                                           const ReclaimTerms& terms) const;
  // Of jobs that wait, whose turn it is: going down from the root, whoever stays within its
  // guarantee first, then whoever has least beyond it by weight; of equals the first in the order
  // of names. Of one queue's jobs the highest priority, then the oldest. None: there are none.
  Result<std::optional<std::size_t>> next(const std::vector<Job>& waiting) const;

  // Books what is so, asked or not; kUsage: its name is taken.
  Result<void> add(const Job& job);
  // Whether it was there.
  bool remove(const JobName& name);

  const Amounts& used(const QueueName& queue) const;  // with the queues below it; empty: the root
  const std::map<JobName, Job>& jobs() const { return jobs_; }
  // Guaranteed below the root beyond what there is.
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
  std::pair<bool, double> standing(const Node& node, const Amounts& more) const;
  Result<void> check(const Queue& queue) const;
  void charge(const Job& job, int sign);

  Amounts capacity_;
  std::map<QueueName, Node> nodes_{{QueueName(), Node{}}};
  std::map<JobName, Job> jobs_;
};

}  // namespace divvy::engine
