#include "queue/reservation_planner.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace divvy::scheduler {
namespace {

std::vector<std::string> modelsRefused(const QueueTree::QuotaRefusal& no,
                                       const std::vector<ModelUsage>& sum,
                                       const std::vector<std::string>& known) {
  std::vector<std::string> more;
  for (const ModelUsage& use : sum) {
    const auto has = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), use.model) != list.end();
    };
    if (!no.model.empty() && QueueTree::matches(no.model, use.model) && !has(known) && !has(more))
      more.push_back(use.model);
  }
  return more;
}

}  // namespace

bool ReservationPlanner::isOfStartingGang(const kube::Pod& pod) const {
  const Gang* gang = parts_.pods.gangOf(parts_.pods.at(pod.meta.uid));
  return gang != nullptr && !gang->started;
}

// Pods with a reservation that are not bound yet take CPU and memory, too.
Result<std::vector<Reservation>> ReservationPlanner::reserve(
    const std::vector<kube::Pod>& pods, const std::vector<std::string>& without_models,
    engine::Instant expires) {
  if (!isOfStartingGang(pods.front())) return parts_.cache.plan(pods, without_models, {}, expires);
  std::vector<const kube::Pod*> others = parts_.pods.unbound();
  workloads_.addPods(&others);
  return gang_planner_.reserve(pods, others, without_models, expires);
}

Result<std::string> ReservationPlanner::queueOfAll(const QueuedPods::Uids& uids) const {
  std::optional<std::string> queue;
  for (const std::string& uid : uids) {
    const QueuedPod& queued = parts_.pods.at(uid);
    if (!queued.fault.empty()) return Error{ErrorCode::kUsage, queued.fault};
    const Result<std::string> own = parts_.charges.queueOf(queued);
    if (!own) return own.error();
    if (queue && *own != *queue)
      return Error{ErrorCode::kUsage, "members of one gang are in queues \"" + *queue +
                                          "\" and \"" + *own + "\"; accepted: one queue"};
    queue = *own;
  }
  return *queue;
}

void ReservationPlanner::commit(const QueuedPods::Uids& uids, const std::string& queue,
                                const std::vector<Reservation>& planned) {
  const std::string epoch = term_ + '.' + std::to_string(++plans_);
  for (std::size_t i = 0; i < uids.size(); ++i) {
    parts_.pods.at(uids[i]).plan = ReservationAnnotation{epoch, queue, planned[i]};
    parts_.charges.charge(uids[i], queue);
  }
}

Result<void> ReservationPlanner::plan(const QueuedPods::Uids& uids, engine::Instant expires) {
  const std::string& gang = parts_.pods.at(uids.front()).gang;
  workloads_.handOver(gang, uids.size());
  Result<void> planned = reserveAll(uids, expires);
  workloads_.endHandOver(gang, planned.has_value());
  return planned;
}

Result<void> ReservationPlanner::reserveAll(const QueuedPods::Uids& uids, engine::Instant expires) {
  const Result<std::string> queue = queueOfAll(uids);
  if (!queue) return queue.error();
  std::vector<kube::Pod> pods;
  for (const std::string& uid : uids) pods.push_back(parts_.pods.at(uid).pod);
  std::vector<std::string> without_models;
  std::string refusal;
  for (;;) {
    const Result<std::vector<Reservation>> planned = reserve(pods, without_models, expires);
    if (!planned) {
      std::string why = planned.error().message();
      if (!refusal.empty()) why = refusal + "; of other models " + why;
      return Error{planned.error().code(), why};
    }
    std::vector<ModelUsage> sum;
    for (const std::string& uid : uids)
      for (const ModelUsage& use : parts_.cache.pods().useOf(uid)) sum.push_back(use);
    const std::optional<QueueTree::QuotaRefusal> no =
        queue->empty() ? std::nullopt : parts_.queues.checkQuota(*queue, sum);
    if (!no) {
      commit(uids, *queue, *planned);
      return {};
    }
    parts_.charges.release(uids);
    if (refusal.empty()) refusal = no->why;
    // The queue may have quota left for another model.
    std::vector<std::string> more = modelsRefused(*no, sum, without_models);
    if (more.empty()) return Error{ErrorCode::kNoRoom, refusal};
    without_models.insert(without_models.end(), more.begin(), more.end());
  }
}

ReservationPlanner::Members ReservationPlanner::freeMembers(const Gang& gang) const {
  Members members;
  for (const std::string& uid : gang.members) {
    const QueuedPod& queued = parts_.pods.at(uid);
    if (!queued.free() || isGatedByOthers(queued.pod)) continue;
    (parts_.cache.pods().nodeOf(uid) ? members.with : members.without).push_back(uid);
  }
  parts_.pods.sort(&members.without);
  return members;
}

Result<void> ReservationPlanner::reserveMembers(const Gang& gang, const Members& members,
                                                std::uint32_t least, engine::Instant expires) {
  const auto tried = [&](std::size_t count) {
    const auto end = members.without.begin() + static_cast<std::ptrdiff_t>(count);
    return reserveAll(QueuedPods::Uids(members.without.begin(), end), expires);
  };
  Result<void> done = tried(members.without.size());
  const std::size_t enough = least > members.with.size() ? least - members.with.size() : 0;
  if (!done && enough > 0 && enough < members.without.size()) done = tried(enough);
  if (!done && enough == 0) return {};
  if (done || members.with.empty()) return done;
  // Without the members' earlier reservations there may be a plan for all of them.
  parts_.charges.release(members.with);
  return reserveMembers(gang, freeMembers(gang), least, expires);
}

Result<void> ReservationPlanner::planGang(const Gang& gang, engine::Instant expires) {
  const Result<std::uint32_t> least = parts_.pods.minMemberOf(gang);
  const Members members = freeMembers(gang);
  const std::size_t all = members.with.size() + members.without.size();
  Result<void> done;
  if (!least) {
    done = least.error();
  } else if (all < *least) {
    done = Error{ErrorCode::kNoRoom, std::to_string(all) + " of " + std::to_string(*least) +
                                         " members of the gang are there"};
  } else if (members.without.empty()) {
    return {};
  } else {
    const std::string& key = parts_.pods.at(members.without.front()).gang;
    workloads_.handOver(key, members.without.size());
    done = reserveMembers(gang, members, *least, expires);
    const bool reserved =
        std::any_of(gang.members.begin(), gang.members.end(), [&](const std::string& uid) {
          return parts_.pods.at(uid).free() && parts_.cache.pods().nodeOf(uid).has_value();
        });
    workloads_.endHandOver(key, done && reserved);
    if (done) return done;
  }
  if (!done) parts_.charges.release(members.with);
  return done;
}

}  // namespace divvy::scheduler
