#include "queue/reservation_planner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace divvy::scheduler {
namespace {

// How often members without CPU or memory on their node are tried on other nodes.
constexpr unsigned kMaxRounds = 16;

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

// Pods with a reservation that are not bound yet take CPU and memory, too.
std::vector<std::size_t> ReservationPlanner::exceeding(
    const std::vector<kube::Pod>& pods, const std::vector<Reservation>& places) const {
  std::set<std::string> own;
  for (const kube::Pod& pod : pods) own.insert(pod.meta.uid);
  std::vector<NodeResourcesFit::Guest> guests;
  for (const auto& [uid, queued] : parts_.pods.all())
    if (queued.free() && !own.contains(uid))
      if (const auto place = parts_.cache.pods().nodeOf(uid))
        guests.push_back({&queued.pod, *place});
  const std::size_t others = guests.size();
  for (std::size_t i = 0; i < pods.size(); ++i) guests.push_back({&pods[i], places[i].node});
  std::vector<std::size_t> all;
  for (const std::size_t at : parts_.node_resources->exceeding(guests, {}))
    if (at >= others) all.push_back(at - others);
  return all;
}

bool ReservationPlanner::isOfStartingGang(const kube::Pod& pod) const {
  const Gang* gang = parts_.pods.gangOf(parts_.pods.at(pod.meta.uid));
  return gang != nullptr && !gang->started;
}

// Members are tried on other nodes if their node lacks CPU or memory.
Result<std::vector<Reservation>> ReservationPlanner::reserve(
    const std::vector<kube::Pod>& pods, const std::vector<std::string>& without_models,
    engine::Instant expires) {
  std::vector<std::string> full;
  Result<std::vector<Reservation>> all = parts_.cache.plan(pods, without_models, full, expires);
  if (!all || parts_.node_resources == nullptr || !isOfStartingGang(pods.front())) return all;
  for (unsigned round = 1;; ++round) {
    const std::vector<std::size_t> exceeding = this->exceeding(pods, *all);
    if (exceeding.empty()) return all;
    std::vector<kube::Pod> rest;
    for (const std::size_t at : exceeding) {
      rest.push_back(pods[at]);
      parts_.cache.unreserve(pods[at].meta.uid);
      const std::string& node = (*all)[at].node;
      if (std::find(full.begin(), full.end(), node) == full.end()) full.push_back(node);
    }
    Result<std::vector<Reservation>> again =
        round > kMaxRounds ? Error{ErrorCode::kNoRoom, "no way was found"}
                           : parts_.cache.plan(rest, without_models, full, expires);
    for (std::size_t i = 0; again && i < exceeding.size(); ++i) (*all)[exceeding[i]] = (*again)[i];
    if (again) continue;
    for (const kube::Pod& pod : pods) parts_.cache.unreserve(pod.meta.uid);
    return Error{again.error().code(),
                 std::to_string(exceeding.size()) + " of " + std::to_string(pods.size()) +
                     " members find too little CPU or memory on nodes with devices, such as node " +
                     full.back()};
  }
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

Result<void> ReservationPlanner::planGang(const Gang& gang, engine::Instant expires) {
  const Result<std::uint32_t> least = parts_.pods.minMemberOf(gang);
  auto [with, without] = freeMembers(gang);
  const std::size_t all = with.size() + without.size();
  Result<void> done;
  if (!least) {
    done = least.error();
  } else if (all < *least) {
    done = Error{ErrorCode::kNoRoom, std::to_string(all) + " of " + std::to_string(*least) +
                                         " members of the gang are there"};
  } else if (without.empty()) {
    return {};
  } else {
    const auto tried = [&, &members = without](std::size_t count) {
      return plan(QueuedPods::Uids(members.begin(), members.begin() + static_cast<long>(count)),
                  expires);
    };
    done = tried(without.size());
    const std::size_t enough = *least > with.size() ? *least - with.size() : 0;
    if (!done && enough > 0 && enough < without.size()) done = tried(enough);
    if (!done && enough == 0) return {};
    if (!done && !with.empty()) {
      // Without the members' earlier reservations there may be a plan for all of them.
      parts_.charges.release(with);
      return planGang(gang, expires);
    }
  }
  if (!done) parts_.charges.release(with);
  return done;
}

}  // namespace divvy::scheduler
