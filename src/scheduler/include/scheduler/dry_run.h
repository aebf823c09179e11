// What would become of a pod now, by the code of those who decide it: which of those at our gate
// may start, and who of lower priority would have to end. For those who only ask: nothing is
// written, and nothing that is kept expires. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/budget.h"
#include "kube/pod.h"
#include "kube/queue.h"
#include "scheduler/cache.h"
#include "scheduler/pod_group.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// A pod that would have to end.
struct Victim {
  std::string uid, space, name;
  std::int64_t priority = 0;
};

struct Victims {
  std::string node;           // empty: nobody's end would help
  std::vector<Victim> who;    // none: those who are ending there already are enough
  std::vector<Victim> going;  // on that node
  // Of lower priority, on the nodes that were looked at, and not thought of: they say so, or their
  // end would change nothing; have not run for long enough; are under a disruption budget that lets
  // none go now.
  std::size_t fixed = 0, young = 0, budgeted = 0;
};

// For one thread.
class SchedulingDryRun {
 public:
  struct Options {
    std::int64_t min_runtime = 0;  // seconds; of pods that do not say it themselves
    std::int64_t now = 0;          // seconds since 1970
  };
  // How many members a gang has at least, by what says it.
  using Least = std::function<Result<std::uint32_t>(const MinMemberRef&)>;

  // Catalogue and books outlive it; the books are told of everybody first.
  SchedulingDryRun(const vendors::Catalog& catalog, SchedulerCache& cache, Options options);
  ~SchedulingDryRun();

  void setQueue(kube::Queue queue);
  void setSpace(const kube::Meta& space);
  void setBudget(kube::DisruptionBudget budget);
  // Queues, or what namespaces say of theirs, may not be read: no queue limits anybody, or a pod is
  // of the queue that it names.
  void withoutQueues();
  void withoutSpaces();
  // `created`: as its object says it. kUsage: what of it cannot be read; then it never has to end.
  Result<void> setPod(const kube::Pod& pod, const std::string& created);
  void removePod(const std::string& uid);
  // It was made to end: its disruption budget lets one less go.
  void evicted(const std::string& uid);

  // These come to our gate together, those of their gang that are there already with them; what
  // those get who may start now is reserved.
  void arrive(std::span<const kube::Pod> pods, const Least& least);
  // Why it stays at our gate. Empty: it does not, or was never there.
  std::string gated(const std::string& uid) const;
  // As if it had not come.
  void leave(const std::string& uid);
  // As SchedulerCache has it; of who came past our gate as it was promised, within its queue.
  Result<FilterResult> filter(const kube::Pod& pod, std::span<const std::string_view> nodes);
  // From here on it is on that node, and may have to end for others.
  void place(const kube::Pod& pod, const std::string& node);

  // The cheapest set on any of these nodes, which are those that would do but for what others have
  // there. Errors: as of SchedulerCache::readRequest and the engine.
  Result<Victims> whoEnds(const kube::Pod& pod, std::span<const std::string> nodes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
