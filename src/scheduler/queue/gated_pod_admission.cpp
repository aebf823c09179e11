// Who may start: in whose turn, with which places, all of a gang or none.
#include <algorithm>
#include <tuple>

#include "queue/gated_pod_queue.h"

namespace divvy::scheduler {
namespace {

// So often those who find no processors or memory look on other nodes.
constexpr unsigned kMaxRounds = 16;

}  // namespace

// What was promised to them others may have by now; they go behind those who wait as they do.
void GatedPodQueue::expireReservations() {
  for (auto& [uid, queued] : queued_) {
    if (!queued.free() || !queues_.charged(uid) || reserved(uid)) continue;
    queues_.discharge(uid);
    ++queued.late;
  }
}

// Who has been promised a place and is not bound yet takes of the same.
std::vector<std::size_t> GatedPodQueue::withoutRoom(const std::vector<kube::Pod>& pods,
                                                    const std::vector<Reservation>& places) const {
  std::set<std::string> own;
  for (const kube::Pod& pod : pods) own.insert(pod.meta.uid);
  std::vector<NodeResourcesFit::Guest> guests;
  for (const auto& [uid, queued] : queued_)
    if (queued.free() && !own.contains(uid))
      if (const auto place = cache_.nodeOf(uid)) guests.push_back({&queued.pod, *place});
  const std::size_t others = guests.size();
  for (std::size_t i = 0; i < pods.size(); ++i) guests.push_back({&pods[i], places[i].node});
  std::vector<std::size_t> exceeding;
  for (const std::size_t at : node_resources_->exceeding(guests, {}))
    if (at >= others) exceeding.push_back(at - others);
  return exceeding;
}

// Of a gang, or those of it that have none: devices, and on the same nodes processors and memory.
// Those for whom there are not enough on a node look on others.
Result<std::vector<Reservation>> GatedPodQueue::places(const std::vector<kube::Pod>& pods,
                                                       const std::vector<std::string>& without,
                                                       engine::Instant expires) {
  std::vector<std::string> full;
  Result<std::vector<Reservation>> all = cache_.plan(pods, without, full, expires);
  const auto gang = gangs_.find(queued_.at(pods.front().meta.uid).gang);
  const bool starts = gang != gangs_.end() && !gang->second.started;
  if (!all || node_resources_ == nullptr || !starts) return all;
  for (unsigned round = 1;; ++round) {
    const std::vector<std::size_t> exceeding = withoutRoom(pods, *all);
    if (exceeding.empty()) return all;
    std::vector<kube::Pod> rest;
    for (const std::size_t at : exceeding) {
      rest.push_back(pods[at]);
      cache_.unreserve(pods[at].meta.uid);
      const std::string& node = (*all)[at].node;
      if (std::find(full.begin(), full.end(), node) == full.end()) full.push_back(node);
    }
    Result<std::vector<Reservation>> again = round > kMaxRounds
                                                 ? Error{ErrorCode::kNoRoom, "no way was found"}
                                                 : cache_.plan(rest, without, full, expires);
    for (std::size_t i = 0; again && i < exceeding.size(); ++i) (*all)[exceeding[i]] = (*again)[i];
    if (again) continue;
    for (const kube::Pod& pod : pods) cache_.unreserve(pod.meta.uid);
    return Error{again.error().code(),
                 std::to_string(exceeding.size()) + " of " + std::to_string(pods.size()) +
                     " members find no processors or memory where there are devices, as on node " +
                     full.back()};
  }
}

// All of these, of one queue, or none.
Result<void> GatedPodQueue::plan(const Uids& uids, engine::Instant expires) {
  std::vector<kube::Pod> pods;
  std::string queue;
  for (const std::string& uid : uids) {
    const QueuedPod& queued = queued_.at(uid);
    if (!queued.fault.empty()) return Error{ErrorCode::kUsage, queued.fault};
    const Result<std::string> own = queueOf(queued);
    if (!own) return own.error();
    if (!pods.empty() && *own != queue)
      return Error{ErrorCode::kUsage, "members of one gang are of queues \"" + queue + "\" and \"" +
                                          *own + "\"; accepted: the same"};
    queue = *own;
    pods.push_back(queued.pod);
  }
  std::vector<std::string> without;
  std::string refusal;
  for (;;) {
    const Result<std::vector<Reservation>> planned = places(pods, without, expires);
    if (!planned) {
      std::string why = planned.error().message();
      if (!refusal.empty()) why = refusal + "; of other models " + why;
      return Error{planned.error().code(), why};
    }
    std::vector<ModelUsage> sum;
    for (const std::string& uid : uids)
      for (const ModelUsage& use : cache_.useOf(uid)) sum.push_back(use);
    const std::optional<QueueTree::QuotaRefusal> no =
        queue.empty() ? std::nullopt : queues_.checkQuota(queue, sum);
    if (!no) {
      const std::string epoch = term_ + '.' + std::to_string(++plans_);
      for (std::size_t i = 0; i < uids.size(); ++i) {
        queued_.at(uids[i]).plan = ReservationAnnotation{epoch, queue, (*planned)[i]};
        chargeFor(uids[i], queue);
      }
      return {};
    }
    unreserveAll(uids);
    if (refusal.empty()) refusal = no->why;
    // Of another model there may be some left for the queue.
    const std::size_t before = without.size();
    for (const ModelUsage& use : sum) {
      const bool known = std::find(without.begin(), without.end(), use.model) != without.end();
      if (!no->model.empty() && QueueTree::matches(no->model, use.model) && !known)
        without.push_back(use.model);
    }
    if (without.size() == before) return Error{ErrorCode::kNoRoom, refusal};
  }
}

// Whose gate has gone already first, then as they came.
void GatedPodQueue::sortMembers(Uids* uids) const {
  std::sort(uids->begin(), uids->end(), [&](const std::string& a, const std::string& b) {
    const QueuedPod &x = queued_.at(a), &y = queued_.at(b);
    return std::tuple(x.gated(), x.created, x.pod.meta.name) <
           std::tuple(y.gated(), y.created, y.pod.meta.name);
  });
}

// Whoever was asked to end for them was the last.
void GatedPodQueue::dropPreemption(const Workload& workload) {
  if (clearances_ == nullptr) return;
  for (const std::string& uid : workload.pods) clearances_->drop(uid);
}

// For those of whom nobody has a place; of a gang for no more than have to start together.
std::optional<std::string> GatedPodQueue::requestPreemption(const Workload& workload) {
  if (clearances_ == nullptr) return std::nullopt;
  Uids uids = workload.pods;
  if (!workload.gang.empty()) {
    const Result<std::uint32_t> least = minMemberOfGang(gangs_.at(workload.gang));
    std::erase_if(uids, [&](const std::string& uid) {
      const kube::Pod& pod = queued_.at(uid).pod;
      return isGatedByOthers(pod) || pod.meta.deleting;
    });
    if (!least || uids.size() < *least) {
      dropPreemption(workload);
      return std::nullopt;
    }
    sortMembers(&uids);
    uids.resize(*least);
  }
  PodSet pod_set{workload.key(), {}, workload.queue};
  for (const std::string& uid : uids) {
    const QueuedPod& queued = queued_.at(uid);
    if (reserved(uid) || !queued.fault.empty() || queued.pod.meta.deleting) return std::nullopt;
    pod_set.pods.push_back(queued.pod);
  }
  return clearances_->want(pod_set);
}

// Who has a place keeps it if that leads to a whole gang, else all are planned anew.
Result<void> GatedPodQueue::planGang(const Gang& gang, engine::Instant expires) {
  const Result<std::uint32_t> least = minMemberOfGang(gang);
  Uids with, without;
  for (const std::string& uid : gang.members) {
    const QueuedPod& queued = queued_.at(uid);
    if (!queued.free() || isGatedByOthers(queued.pod)) continue;
    (reserved(uid) ? with : without).push_back(uid);
  }
  const std::size_t all = with.size() + without.size();
  sortMembers(&without);
  Result<void> done;
  if (!least) {
    done = least.error();
  } else if (all < *least) {
    done = Error{ErrorCode::kNoRoom, std::to_string(all) + " of " + std::to_string(*least) +
                                         " members of the gang are there"};
  } else if (without.empty()) {
    return {};
  } else {
    const auto tried = [&](std::size_t count) {
      return plan(Uids(without.begin(), without.begin() + static_cast<long>(count)), expires);
    };
    done = tried(without.size());
    const std::size_t enough = *least > with.size() ? *least - with.size() : 0;
    if (!done && enough > 0 && enough < without.size()) done = tried(enough);
    if (!done && enough == 0) return {};
    if (!done && !with.empty()) {
      unreserveAll(with);
      return planGang(gang, expires);
    }
  }
  if (!done) unreserveAll(with);
  return done;
}

void GatedPodQueue::openGate(const std::string& uid, std::vector<GateRemoval>* out) {
  QueuedPod& queued = queued_.at(uid);
  if (!queued.gated() || queued.opening) return;
  queued.opening = true;
  queued.why.clear();
  out->push_back({queued.pod.meta.space, queued.pod.meta.name, uid,
                  queued.plan && queued.devices ? encode(*queued.plan) : ""});
}

Result<void> GatedPodQueue::tryWorkload(const Workload& workload, engine::Instant expires,
                                        std::vector<GateRemoval>* out) {
  if (workload.gang.empty()) {
    const std::string& uid = workload.pods.front();
    QueuedPod& queued = queued_.at(uid);
    // A place that was left of a gate that could not be taken away is still its own.
    const bool needs = queued.devices && !reserved(uid);
    const Result<void> planned = needs ? plan(workload.pods, expires) : Result<void>();
    if (planned) openGate(uid, out);
    return planned;
  }
  Gang& gang = gangs_.at(workload.gang);
  const Result<void> planned = planGang(gang, expires);
  if (!planned) return planned;
  for (const std::string& uid : gang.members)
    if (reserved(uid) && queued_.at(uid).free()) openGate(uid, out);
  return {};
}

GatedPodQueue::Workload GatedPodQueue::workloadOf(const Uids& pods, const std::string& gang) {
  const QueuedPod& queued = queued_.at(pods.front());
  const Result<std::string> queue = queueOf(queued);
  return {pods, gang, queue ? *queue : "", gang.empty() ? queued.alike : gang, queued.pod.priority,
          0};
}

// In the order in which they came; those who did not come when they could go last.
std::vector<GatedPodQueue::Workload> GatedPodQueue::workloads() {
  std::vector<std::tuple<unsigned, std::string, std::string, Workload>> sorted;
  const auto add = [&](const std::string& uid, Workload workload) {
    const QueuedPod& queued = queued_.at(uid);
    sorted.emplace_back(queued.late, queued.created,
                        queued.pod.meta.space + '/' + queued.pod.meta.name, std::move(workload));
  };
  for (auto& [uid, queued] : queued_) {
    // Without its gate: it came too late, and its queue had no room for it any more.
    const bool again = !queued.gated() && queued.held_back && !reserved(uid);
    const bool waits = queued.free() && ((queued.gated() && !queued.opening) || again);
    const bool alone = queued.gang.empty() || gangs_.at(queued.gang).started;
    if (!waits || !alone) continue;
    if (isGatedByOthers(queued.pod)) {
      queued.why = "others' gates are still there: " + othersGate(queued.pod);
    } else {
      add(uid, workloadOf({uid}, ""));
    }
  }
  for (const auto& [key, gang] : gangs_) {
    if (gang.started) continue;
    Uids free;
    bool waits = false;
    for (const std::string& uid : gang.members) {
      const QueuedPod& queued = queued_.at(uid);
      if (!queued.free()) continue;
      free.push_back(uid);
      waits = waits || (queued.gated() && !queued.opening) || !reserved(uid);
    }
    if (waits) add(free.front(), workloadOf(free, key));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  });
  std::vector<Workload> all;
  for (auto& one : sorted) {
    all.push_back(std::move(std::get<3>(one)));
    all.back().since = static_cast<std::int64_t>(all.size());
  }
  return all;
}

void GatedPodQueue::explain(const Workload& workload, const std::string& why) {
  for (const std::string& uid : workload.pods) queued_.at(uid).why = why;
}

// Of pods that are alike, of one queue and priority, none fits where the first does not.
std::vector<GateRemoval> GatedPodQueue::open(std::size_t most, const std::string& term,
                                             engine::Instant expires) {
  std::vector<GateRemoval> out;
  if (!settled_) return out;
  stirred_ = false;
  term_ = term;
  expireReservations();
  std::vector<Workload> waiting = workloads();
  std::map<std::tuple<std::string, std::int64_t, std::string>, std::vector<Workload*>> classes;
  for (auto one = waiting.rbegin(); one != waiting.rend(); ++one)
    classes[{one->queue, one->priority, one->alike}].push_back(&*one);
  while (!classes.empty() && out.size() < most) {
    std::vector<QueueTree::QueueHead> turns;
    for (const auto& [key, workloads] : classes) {
      const Workload& head = *workloads.back();
      turns.push_back({head.queue, 0, 0, head.priority, head.since});
    }
    const auto turn = std::next(classes.begin(), static_cast<long>(queues_.next(turns)));
    const Result<void> tried = tryWorkload(*turn->second.back(), expires, &out);
    const Workload& workload = *turn->second.back();
    const bool full = !tried && tried.error().code() == ErrorCode::kNoRoom;
    const std::optional<std::string> clearing = full ? requestPreemption(workload) : std::nullopt;
    if (tried && clearances_ != nullptr) clearances_->started(workload.key());
    if (!tried && !full) dropPreemption(workload);
    if (tried || clearing) {
      // Others as it may have room made for them, too.
      if (clearing) explain(workload, *clearing);
      turn->second.pop_back();
    } else {
      for (const Workload* each : turn->second) explain(*each, tried.error().message());
      // But what is kept for one of them the others do not have.
      turn->second.pop_back();
      std::erase_if(turn->second, [&](const Workload* each) {
        return clearances_ == nullptr || !clearances_->stands(each->key());
      });
    }
    if (turn->second.empty()) classes.erase(turn);
  }
  stirred_ = stirred_ || !classes.empty();
  return out;
}

void GatedPodQueue::opened(const std::string& uid) {
  const auto queued = queued_.find(uid);
  if (queued == queued_.end()) return;
  queued->second.opened = true;
  queued->second.opening = false;
  queued->second.why.clear();
}

void GatedPodQueue::notOpened(const std::string& uid, const std::string& why) {
  const auto queued = queued_.find(uid);
  if (queued == queued_.end()) return;
  queued->second.opening = false;
  queued->second.why = "its gate could not be taken away: " + why;
}

}  // namespace divvy::scheduler
