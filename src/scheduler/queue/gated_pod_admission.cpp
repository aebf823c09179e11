// Which gates to remove: the order of workloads, one attempt for each, and all of a gang or none.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "queue/gated_pod_queue.h"

namespace divvy::scheduler {

// A workload and its place in the order: workloads with expired reservations come last, then the
// order of creation.
struct GatedPodQueue::Arrival {
  unsigned late = 0;
  std::string created;
  std::string name;
  Workload workload;
};

// Devices of an expired reservation may be taken. Its pod moves behind those that wait equally.
void GatedPodQueue::expireReservations() {
  for (auto& [uid, queued] : pods_.all()) {
    if (!queued.free() || !parts_.queues.charged(uid) || parts_.cache.pods().nodeOf(uid)) continue;
    charges_.discharge(uid);
    ++queued.late;
  }
}

// The victims that terminate already are the last.
void GatedPodQueue::dropPreemption(const QueuedPods::Uids& uids) {
  if (parts_.preemption == nullptr) return;
  for (const std::string& uid : uids) parts_.preemption->drop(uid);
}

// For workloads without any reservation; for no more members of a gang than have to start together.
std::optional<std::string> GatedPodQueue::requestPreemption(const Workload& workload) {
  if (parts_.preemption == nullptr) return std::nullopt;
  QueuedPods::Uids uids = workload.pods;
  if (!workload.gang.empty()) {
    const Result<std::uint32_t> least = pods_.minMemberOf(pods_.gangs().at(workload.gang));
    std::erase_if(uids, [&](const std::string& uid) {
      const kube::Pod& pod = pods_.at(uid).pod;
      return isGatedByOthers(pod) || pod.meta.deleting;
    });
    if (!least || uids.size() < *least) {
      dropPreemption(workload.pods);
      return std::nullopt;
    }
    pods_.sort(&uids);
    uids.resize(*least);
  }
  PodSet pod_set{workload.key(), {}, workload.queue};
  for (const std::string& uid : uids) {
    const QueuedPod& queued = pods_.at(uid);
    if (parts_.cache.pods().nodeOf(uid) || !queued.fault.empty() || queued.pod.meta.deleting)
      return std::nullopt;
    pod_set.pods.push_back(queued.pod);
  }
  return parts_.preemption->want(pod_set);
}

void GatedPodQueue::openGate(const std::string& uid, std::vector<GateRemoval>* out) {
  QueuedPod& queued = pods_.at(uid);
  if (queued.gate != GateState::kGated) return;
  queued.gate = GateState::kOpening;
  queued.why.clear();
  out->push_back({queued.pod.meta.namespace_name, queued.pod.meta.name, uid,
                  queued.plan && queued.devices ? encode(*queued.plan) : ""});
}

Result<void> GatedPodQueue::tryWorkload(const Workload& workload, engine::Instant expires,
                                        std::vector<GateRemoval>* out) {
  if (workload.gang.empty()) {
    const std::string& uid = workload.pods.front();
    // A reservation stays if its gate could not be removed.
    const bool needs = pods_.at(uid).devices && !parts_.cache.pods().nodeOf(uid);
    const Result<void> planned = needs ? planner_.plan(workload.pods, expires) : Result<void>();
    if (planned) openGate(uid, out);
    return planned;
  }
  const Gang& gang = pods_.gangs().at(workload.gang);
  const Result<void> planned = planner_.planGang(gang, expires);
  if (!planned) return planned;
  for (const std::string& uid : gang.members)
    if (parts_.cache.pods().nodeOf(uid) && pods_.at(uid).free()) openGate(uid, out);
  return {};
}

GatedPodQueue::Workload GatedPodQueue::workloadOf(const QueuedPods::Uids& pods,
                                                  const std::string& gang) const {
  const QueuedPod& queued = pods_.at(pods.front());
  const Result<std::string> queue = charges_.queueOf(queued);
  return {.pods = pods,
          .gang = gang,
          .queue = queue ? *queue : "",
          .alike = gang.empty() ? queued.alike : gang,
          .priority = queued.pod.priority};
}

void GatedPodQueue::addSinglePods(std::vector<Arrival>* arrivals) {
  for (auto& [uid, queued] : pods_.all()) {
    // Without its gate: its reservation expired, and its queue had no quota left.
    const bool again = !queued.gated() && queued.held_back && !parts_.cache.pods().nodeOf(uid);
    const bool waits = queued.free() && (queued.gate == GateState::kGated || again);
    const bool alone = queued.gang.empty() || pods_.gangOf(queued)->started;
    if (!waits || !alone) continue;
    if (isGatedByOthers(queued.pod)) {
      queued.why = "waiting for scheduling gates of other controllers: " + othersGate(queued.pod);
      continue;
    }
    arrivals->push_back({queued.late, queued.created,
                         queued.pod.meta.namespace_name + '/' + queued.pod.meta.name,
                         workloadOf({uid}, "")});
  }
}

void GatedPodQueue::addGangs(std::vector<Arrival>* arrivals) {
  for (const auto& [key, gang] : pods_.gangs()) {
    if (gang.started) continue;
    QueuedPods::Uids free;
    bool waits = false;
    for (const std::string& uid : gang.members) {
      const QueuedPod& queued = pods_.at(uid);
      if (!queued.free()) continue;
      free.push_back(uid);
      waits = waits || queued.gate == GateState::kGated || !parts_.cache.pods().nodeOf(uid);
    }
    if (!waits) continue;
    const QueuedPod& first = pods_.at(free.front());
    arrivals->push_back({first.late, first.created,
                         first.pod.meta.namespace_name + '/' + first.pod.meta.name,
                         workloadOf(free, key)});
  }
}

std::vector<GatedPodQueue::Workload> GatedPodQueue::workloads() {
  std::vector<Arrival> arrivals;
  addSinglePods(&arrivals);
  addGangs(&arrivals);
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.late, a.created, a.name) < std::tie(b.late, b.created, b.name);
  });
  std::vector<Workload> all;
  for (Arrival& one : arrivals) {
    all.push_back(std::move(one.workload));
    all.back().since = static_cast<std::int64_t>(all.size());
  }
  return all;
}

void GatedPodQueue::explain(const Workload& workload, const std::string& why) {
  for (const std::string& uid : workload.pods) pods_.at(uid).why = why;
}

// Tries the last of the class and removes it; the others, too, where they cannot fit either.
// Returns true if the class is empty then.
bool GatedPodQueue::admitNext(WorkloadClass* waiting, engine::Instant expires,
                              std::vector<GateRemoval>* out) {
  const Workload& workload = *waiting->back();
  const Result<void> tried = tryWorkload(workload, expires, out);
  const bool full = !tried && tried.error().code() == ErrorCode::kNoRoom;
  const std::optional<std::string> evicting = full ? requestPreemption(workload) : std::nullopt;
  if (tried && parts_.preemption != nullptr) parts_.preemption->started(workload.key());
  if (!tried && !full) dropPreemption(workload.pods);
  if (tried || evicting) {
    // Preemption may find capacity for the next one, too.
    if (evicting) explain(workload, *evicting);
    waiting->pop_back();
    return waiting->empty();
  }
  for (const Workload* each : *waiting) explain(*each, tried.error().message());
  waiting->pop_back();
  // Capacity that is nominated for one of them was not available to this one.
  std::erase_if(*waiting, [&](const Workload* each) {
    return parts_.preemption == nullptr || !parts_.preemption->stands(each->key());
  });
  return waiting->empty();
}

std::vector<GateRemoval> GatedPodQueue::open(std::size_t most, const std::string& term,
                                             engine::Instant expires) {
  std::vector<GateRemoval> out;
  if (!settled_) return out;
  changed_ = false;
  planner_.setTerm(term);
  expireReservations();
  std::vector<Workload> waiting = workloads();
  std::map<std::tuple<std::string, std::int64_t, std::string>, WorkloadClass> classes;
  for (auto one = waiting.rbegin(); one != waiting.rend(); ++one)
    classes[{one->queue, one->priority, one->alike}].push_back(&*one);
  while (!classes.empty() && out.size() < most) {
    std::vector<QueueTree::QueueHead> turns;
    for (const auto& [key, workloads] : classes) {
      const Workload& head = *workloads.back();
      turns.push_back({head.queue, 0, 0, head.priority, head.since});
    }
    const auto turn = std::next(classes.begin(), static_cast<long>(parts_.queues.next(turns)));
    if (admitNext(&turn->second, expires, &out)) classes.erase(turn);
  }
  changed_ = changed_ || !classes.empty();
  return out;
}

void GatedPodQueue::opened(const std::string& uid) {
  QueuedPod* queued = pods_.find(uid);
  if (queued == nullptr) return;
  queued->gate = GateState::kOpen;
  queued->why.clear();
}

void GatedPodQueue::notOpened(const std::string& uid, const std::string& why) {
  QueuedPod* queued = pods_.find(uid);
  if (queued == nullptr) return;
  if (queued->gate == GateState::kOpening) queued->gate = GateState::kGated;
  queued->why = "cannot remove its scheduling gate: " + why;
}

}  // namespace divvy::scheduler
