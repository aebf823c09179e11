#include "scheduler/dry_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "annotations/reservation_annotation.h"
#include "kube/renamed_annotation.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "queue/gated_pod_queue.h"
#include "quota/queue_tree.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kNever{std::numeric_limits<std::int64_t>::max()};
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

Victim endingOf(const RunningPod& one) {
  return {one.uid, one.namespace_name, one.name, one.priority};
}

}  // namespace

struct SchedulingDryRun::Impl {
  struct Waiting {
    kube::Pod pod;
    std::string created;
  };

  Impl(const vendors::Catalog& catalog, SchedulerCache& of, Options told)
      : cache(of), options(told), gated_pods({catalog, of, queues}) {}

  kube::Pod asHeeded(kube::Pod pod) const {
    if (with_queues) return pod;
    pod.meta.labels.erase(kQueueKey);
    pod.meta.annotations.erase(kQueueKey);
    return pod;
  }

  void comes(const kube::Pod& pod, const std::string& created) {
    // Admission has judged that already.
    const std::string named = queueNamedBy(pod);
    if (!with_namespaces && !named.empty())
      queues.setNamespaceQueue(pod.meta.namespace_name, named);
    gated_pods.setPod(asHeeded(pod), created);
  }

  void forgetWaiting(const std::string& uid) {
    for (auto& [gang, pods] : waiting) pods.erase(uid);
    std::erase_if(waiting, [](const auto& gang) { return gang.second.empty(); });
  }

  SchedulerCache& cache;
  Options options;
  QueueTree queues;
  GatedPodQueue gated_pods;
  RunningPods running_pods;
  DisruptionBudgets budgets;
  bool with_queues = true;
  bool with_namespaces = true;
  // By gang, "NAMESPACE/NAME": waiting pods, by UID; and the pods that were let in.
  std::map<std::string, std::map<std::string, Waiting>> waiting;
  std::map<std::string, std::set<std::string>> came;
};

namespace {

// Empty: of none, or of one that can never be right.
std::string gangKeyOf(const kube::Pod& pod) {
  const Result<std::optional<PodGroupRef>> words = gangOf(pod);
  return words && *words ? pod.meta.namespace_name + '/' + (*words)->name : "";
}

}  // namespace

SchedulingDryRun::SchedulingDryRun(const vendors::Catalog& catalog, SchedulerCache& cache,
                                   Options options)
    : impl_(std::make_unique<Impl>(catalog, cache, options)) {}
SchedulingDryRun::~SchedulingDryRun() = default;

void SchedulingDryRun::setQueue(kube::Queue queue) {
  impl_->queues.set(std::move(queue));
  impl_->gated_pods.reset();
}

void SchedulingDryRun::setNamespace(const kube::Meta& meta) {
  impl_->queues.setNamespaceQueue(meta.name, queueOfNamespace(meta));
  impl_->gated_pods.reset();
}

void SchedulingDryRun::setBudget(kube::DisruptionBudget budget) {
  impl_->budgets.set(std::move(budget));
}

void SchedulingDryRun::removeQueue(const std::string& name) {
  impl_->queues.remove(name);
  impl_->gated_pods.reset();
}

void SchedulingDryRun::removeNamespace(const std::string& name) {
  impl_->queues.removeNamespace(name);
  impl_->gated_pods.reset();
}

void SchedulingDryRun::removeBudget(const std::string& uid) {
  impl_->budgets.remove(uid);
}

void SchedulingDryRun::setNow(std::int64_t now) {
  impl_->options.now = now;
}

void SchedulingDryRun::withoutQueues() {
  impl_->with_queues = false;
}

void SchedulingDryRun::withoutNamespaces() {
  impl_->with_namespaces = false;
}

// ---- present pods -------------------------------------------------------------------------------

Result<void> SchedulingDryRun::setPod(const kube::Pod& pod, const std::string& created) {
  const bool promised =
      kube::findRenamed(pod.meta.annotations, kReservationKey) != nullptr && !isGated(pod);
  const std::string gang = gangKeyOf(pod);
  impl_->forgetWaiting(pod.meta.uid);
  if (!pod.node.empty() || pod.ended() || promised) {
    impl_->gated_pods.setPod(impl_->asHeeded(pod), created);
    impl_->gated_pods.reset();
  } else if (!gang.empty() && !pod.meta.deleting) {
    impl_->waiting[gang][pod.meta.uid] = {pod, created};
  }
  return impl_->running_pods.set(pod);
}

void SchedulingDryRun::removePod(const std::string& uid) {
  leave(uid);
  impl_->forgetWaiting(uid);
  impl_->gated_pods.removePod(uid);
  impl_->running_pods.remove(uid);
}

void SchedulingDryRun::evicted(const std::string& uid) {
  if (const RunningPod* one = impl_->running_pods.find(uid)) impl_->budgets.spend(*one);
  removePod(uid);
}

// ---- at our gate --------------------------------------------------------------------------------

void SchedulingDryRun::arrive(std::span<const kube::Pod> pods, const Least& least) {
  GatedPodQueue& gated_pods = impl_->gated_pods;
  for (const kube::Pod& pod : pods) {
    const std::string gang = gangKeyOf(pod);
    impl_->comes(pod, "");
    if (gang.empty()) continue;
    std::set<std::string>& came = impl_->came[gang];
    came.insert(pod.meta.uid);
    const auto others = impl_->waiting.find(gang);
    if (others == impl_->waiting.end()) continue;
    for (const auto& [uid, one] : others->second)
      if (came.insert(uid).second || uid == pod.meta.uid) impl_->comes(one.pod, one.created);
  }
  for (const MinMemberRef& in : gated_pods.pods().unknownMinMembers())
    gated_pods.setMinMember(in, least(in));
  // Earlier reservations of other pods first.
  if (!gated_pods.settled()) gated_pods.restoreReservations(kNever);
  for (std::vector<GateRemoval> now = gated_pods.open(kAll, "", kNever); !now.empty();
       now = gated_pods.open(kAll, "", kNever))
    for (const GateRemoval& one : now) gated_pods.opened(one.uid);
}

std::string SchedulingDryRun::gated(const std::string& uid) const {
  for (const GatedPodStatus& one : impl_->gated_pods.waiting())
    if (one.uid == uid) return one.why;
  return "";
}

void SchedulingDryRun::leave(const std::string& uid) {
  std::set<std::string> who{uid};
  for (auto& [gang, came] : impl_->came)
    if (came.contains(uid)) who.merge(std::exchange(came, {}));
  for (const std::string& one : who) {
    if (!impl_->gated_pods.pods().contains(one)) continue;
    impl_->cache.unreserve(one);
    impl_->gated_pods.removePod(one);
  }
}

Result<FilterResult> SchedulingDryRun::filter(const kube::Pod& pod,
                                              std::span<const std::string_view> nodes) {
  return impl_->gated_pods.filterAndReserve(impl_->asHeeded(pod), nodes, kNever);
}

void SchedulingDryRun::place(const kube::Pod& pod, const std::string& node) {
  kube::Pod there = pod;
  there.node = node;
  there.placed_at = impl_->options.now;
  // An unreadable part of it protects it.
  const Result<void> set = impl_->running_pods.set(there);
  (void)set;
}

// ---- victims ------------------------------------------------------------------------------------

Result<Victims> SchedulingDryRun::whoEnds(const kube::Pod& pod,
                                          std::span<const std::string> nodes) const {
  Victims ends;
  const RunningPods& running_pods = impl_->running_pods;
  if (!pod.preempts || !running_pods.anyBelow(pod.priority)) return ends;
  Result<std::optional<engine::Request>> request = impl_->cache.pods().readRequest(pod);
  if (!request) return request.error();
  if (!*request) return ends;
  const Result<PodResources> room = podResources(pod);
  if (!room) return room.error();
  const PreemptorPod preemptor{pod.meta.uid, pod.priority, *room, std::move(**request)};
  const PreemptionOptions options{impl_->cache.pods().config(), impl_->cache.nodes().pools(),
                                  impl_->options.min_runtime, impl_->options.now};
  IneligibleCounts ineligible;
  std::optional<PreemptionPlan> best;
  for (const std::string& node : nodes) {
    const std::optional<NodeSnapshot> snapshotOf = impl_->cache.nodes().snapshotOf(node);
    if (!snapshotOf) continue;
    Result<std::optional<PreemptionPlan>> plan =
        selectVictims(*snapshotOf, preemptor, running_pods, impl_->budgets, options, &ineligible);
    if (!plan) return plan.error();
    if (*plan && (!best || (*plan)->cost < best->cost)) best = std::move(*plan);
  }
  ends.fixed = ineligible.fixed;
  ends.young = ineligible.young;
  ends.budgeted = ineligible.budgeted;
  if (!best) return ends;
  ends.node = best->node;
  for (const std::string& uid : best->victims)
    if (const RunningPod* one = running_pods.find(uid)) ends.who.push_back(endingOf(*one));
  for (const RunningPod* one : running_pods.on(best->node))
    if (one->terminating) ends.going.push_back(endingOf(*one));
  return ends;
}

}  // namespace divvy::scheduler
