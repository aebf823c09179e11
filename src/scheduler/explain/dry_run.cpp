#include "scheduler/dry_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "codec/reservation_annotation.h"
#include "preemption/running_pods.h"
#include "preemption/victim_selection.h"
#include "queue/gated_pod_queue.h"
#include "quota/queue_tree.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kNever{std::numeric_limits<std::int64_t>::max()};
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

Ending endingOf(const Lodger& one) {
  return {one.uid, one.space, one.name, one.priority};
}

}  // namespace

struct Forecast::Inside {
  struct Waiting {
    kube::Pod pod;
    std::string created;
  };

  Inside(const vendors::Catalog& catalog, Books& of, Terms told)
      : books(of), terms(told), house(catalog, of, queues) {}

  kube::Pod asHeeded(kube::Pod pod) const {
    if (with_queues) return pod;
    pod.meta.labels.erase(kQueueKey);
    pod.meta.annotations.erase(kQueueKey);
    return pod;
  }

  void comes(const kube::Pod& pod, const std::string& created) {
    // Whoever let it be made has judged that.
    const std::string named = queueNamedBy(pod);
    if (!with_spaces && !named.empty()) queues.setSpace(pod.meta.space, named);
    house.setPod(asHeeded(pod), created);
  }

  Books& books;
  const Terms terms;
  Queues queues;
  Gatehouse house;
  Lodgers lodgers;
  Budgets budgets;
  bool with_queues = true;
  bool with_spaces = true;
  // Of each gang, "NAMESPACE/NAME": those who wait, by UID; and whom we let come.
  std::map<std::string, std::map<std::string, Waiting>> waiting;
  std::map<std::string, std::set<std::string>> came;
};

namespace {

// Empty: of none, or of one that can never be right.
std::string gangKeyOf(const kube::Pod& pod) {
  const Result<std::optional<GangWords>> words = gangOf(pod);
  return words && *words ? pod.meta.space + '/' + (*words)->name : "";
}

}  // namespace

Forecast::Forecast(const vendors::Catalog& catalog, Books& books, Terms terms)
    : inside_(std::make_unique<Inside>(catalog, books, terms)) {}
Forecast::~Forecast() = default;

void Forecast::setQueue(kube::Queue queue) {
  inside_->queues.set(std::move(queue));
  inside_->house.reset();
}

void Forecast::setSpace(const kube::Meta& space) {
  inside_->queues.setSpace(space.name, queueSaidBy(space));
  inside_->house.reset();
}

void Forecast::setBudget(kube::DisruptionBudget budget) {
  inside_->budgets.set(std::move(budget));
}

void Forecast::withoutQueues() {
  inside_->with_queues = false;
}

void Forecast::withoutSpaces() {
  inside_->with_spaces = false;
}

// ---- who is there -------------------------------------------------------------------------------

Result<void> Forecast::setPod(const kube::Pod& pod, const std::string& created) {
  const bool promised = pod.meta.annotations.contains(kPlanKey) && !isGated(pod);
  const std::string gang = gangKeyOf(pod);
  if (!pod.node.empty() || pod.ended() || promised) {
    inside_->house.setPod(inside_->asHeeded(pod), created);
    inside_->house.reset();
  } else if (!gang.empty() && !pod.meta.deleting) {
    inside_->waiting[gang][pod.meta.uid] = {pod, created};
  }
  return inside_->lodgers.set(pod);
}

void Forecast::removePod(const std::string& uid) {
  leave(uid);
  inside_->house.removePod(uid);
  inside_->lodgers.remove(uid);
}

void Forecast::evicted(const std::string& uid) {
  if (const Lodger* one = inside_->lodgers.find(uid)) inside_->budgets.spend(*one);
  removePod(uid);
}

// ---- at our gate --------------------------------------------------------------------------------

void Forecast::arrive(std::span<const kube::Pod> pods, const Least& least) {
  Gatehouse& house = inside_->house;
  for (const kube::Pod& pod : pods) {
    const std::string gang = gangKeyOf(pod);
    inside_->comes(pod, "");
    if (gang.empty()) continue;
    std::set<std::string>& came = inside_->came[gang];
    came.insert(pod.meta.uid);
    const auto others = inside_->waiting.find(gang);
    if (others == inside_->waiting.end()) continue;
    for (const auto& [uid, one] : others->second)
      if (came.insert(uid).second || uid == pod.meta.uid) inside_->comes(one.pod, one.created);
  }
  for (const LeastIn& in : house.unknownLeast()) house.setLeast(in, least(in));
  // What was promised to others before, first.
  if (!house.settled()) house.settle(kNever);
  for (std::vector<Opening> now = house.open(kAll, "", kNever); !now.empty();
       now = house.open(kAll, "", kNever))
    for (const Opening& one : now) house.opened(one.uid);
}

std::string Forecast::gated(const std::string& uid) const {
  for (const Queued& one : inside_->house.waiting())
    if (one.uid == uid) return one.why;
  return "";
}

void Forecast::leave(const std::string& uid) {
  std::set<std::string> who{uid};
  for (auto& [gang, came] : inside_->came)
    if (came.contains(uid)) who.merge(std::exchange(came, {}));
  for (const std::string& one : who) {
    if (!inside_->house.knows(one)) continue;
    inside_->books.unplan(one);
    inside_->house.removePod(one);
  }
}

Result<Choice> Forecast::choose(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  return inside_->house.choose(inside_->asHeeded(pod), nodes, kNever);
}

void Forecast::place(const kube::Pod& pod, const std::string& node) {
  kube::Pod there = pod;
  there.node = node;
  there.placed_at = inside_->terms.now;
  // What of it cannot be read protects it.
  const Result<void> set = inside_->lodgers.set(there);
  (void)set;
}

// ---- who would end ------------------------------------------------------------------------------

Result<Endings> Forecast::whoEnds(const kube::Pod& pod, std::span<const std::string> nodes) const {
  Endings ends;
  const Lodgers& lodgers = inside_->lodgers;
  if (!pod.preempts || !lodgers.anyBelow(pod.priority)) return ends;
  Result<std::optional<engine::Request>> request = inside_->books.asksOf(pod);
  if (!request) return request.error();
  if (!*request) return ends;
  const Result<Room> room = roomOf(pod);
  if (!room) return room.error();
  const Claimant claimant{pod.meta.uid, pod.priority, *room, std::move(**request)};
  const PreemptionTerms terms{inside_->books.config(), inside_->books.pools(),
                              inside_->terms.min_runtime, inside_->terms.now};
  Withheld withheld;
  std::optional<PreemptionPlan> best;
  for (const std::string& node : nodes) {
    const std::optional<Premises> premises = inside_->books.premises(node);
    if (!premises) continue;
    Result<std::optional<PreemptionPlan>> plan =
        planOn(*premises, claimant, lodgers, inside_->budgets, terms, &withheld);
    if (!plan) return plan.error();
    if (*plan && (!best || (*plan)->cost < best->cost)) best = std::move(*plan);
  }
  ends.fixed = withheld.fixed;
  ends.young = withheld.young;
  ends.budgeted = withheld.budgeted;
  if (!best) return ends;
  ends.node = best->node;
  for (const std::string& uid : best->victims)
    if (const Lodger* one = lodgers.find(uid)) ends.who.push_back(endingOf(*one));
  for (const Lodger* one : lodgers.on(best->node))
    if (one->going) ends.going.push_back(endingOf(*one));
  return ends;
}

}  // namespace divvy::scheduler
