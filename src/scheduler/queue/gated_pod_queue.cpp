#include "queue/gated_pod_queue.h"

#include <algorithm>
#include <utility>

#include "codec/pod_request.h"
#include "kube/renamed_annotation.h"

namespace divvy::scheduler {
namespace {

// Only name, node and priority of a bound pod are read.
void trim(kube::Pod* pod) {
  pod->init.clear();
  pod->containers.clear();
  pod->meta.annotations.clear();
  pod->meta.labels.clear();
}

std::optional<ReservationAnnotation> reservationOf(const kube::Pod& pod) {
  const std::string* note = kube::findRenamed(pod.meta.annotations, kReservationKey);
  if (note == nullptr) return std::nullopt;
  Result<ReservationAnnotation> plan = decodePlan(*note);
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

FilterResult refusedEverywhere(std::span<const std::string_view> nodes, const std::string& why) {
  FilterResult choice;
  choice.ours = true;
  const Reason shared(why);
  for (const std::string_view node : nodes) choice.why.emplace(node, shared);
  return choice;
}

}  // namespace

GatedPodQueue::GatedPodQueue(const Parts& parts)
    : parts_(parts),
      charges_(parts.cache, parts.queues, pods_),
      planner_({parts.cache, parts.queues, pods_, charges_, parts.node_resources}) {}

void GatedPodQueue::setPod(const kube::Pod& pod, const std::string& created) {
  const std::string& uid = pod.meta.uid;
  Result<std::optional<PodGroupRef>> words = std::optional<PodGroupRef>();
  const bool devices = asksForDevices(pod, parts_.catalog);
  if (devices) words = gangOf(pod);
  const bool grouped = words && *words;
  const bool reserved = kube::findRenamed(pod.meta.annotations, kReservationKey) != nullptr;
  if (!isGated(pod) && !reserved && !grouped && words) {
    if (!devices || pod.node.empty() || pod.ended()) return removePod(uid);
    return charges_.chargeUngated(pod);
  }
  changed_ = true;
  QueuedPods::Description description{.created = created,
                                      .devices = devices,
                                      .words = {},
                                      .fault = words ? "" : words.error().message(),
                                      .plan = reservationOf(pod)};
  if (grouped) description.words = std::move(*words);
  QueuedPod& queued = pods_.set(pod, std::move(description));
  const bool waits = !queued.bound() && !pod.ended();
  if (!waits || pod.meta.deleting) dropPreemption({uid});
  if (waits) return;
  if (pod.ended()) {
    charges_.discharge(uid);
  } else {
    const Result<std::string> queue = charges_.queueOf(queued);
    charges_.charge(uid, queue ? *queue : "");
  }
  trim(&queued.pod);
}

void GatedPodQueue::removePod(const std::string& uid) {
  changed_ = true;
  charges_.remove(uid);
  dropPreemption({uid});
  pods_.remove(uid);
}

void GatedPodQueue::setMinMember(const MinMemberRef& in, Result<std::uint32_t> least) {
  pods_.setMinMember(in, std::move(least));
  changed_ = true;
}

void GatedPodQueue::recount() {
  changed_ = true;
  charges_.recount();
}

// Before any new reservation is made.
void GatedPodQueue::restoreReservations(engine::Instant expires) {
  recount();
  for (auto& [uid, queued] : pods_.all()) {
    if (!queued.free() || queued.gated() || !queued.plan || parts_.cache.pods().nodeOf(uid))
      continue;
    const Result<void> again =
        parts_.cache.restoreReservation(queued.pod, queued.plan->place, expires);
    if (again) charges_.charge(uid, queued.plan->queue);
  }
  settled_ = true;
}

Result<FilterResult> GatedPodQueue::filterAndReserve(const kube::Pod& pod,
                                                     std::span<const std::string_view> nodes,
                                                     engine::Instant expires) {
  const std::string& uid = pod.meta.uid;
  QueuedPod* queued = pods_.find(uid);
  if (queued == nullptr) return parts_.cache.filterAndReserve(pod, nodes, expires);
  const auto holdBack = [&](const std::string& why) {
    queued->held_back = true;
    queued->why = why;
    return refusedEverywhere(nodes, why);
  };
  if (const Gang* gang = pods_.gangOf(*queued))
    if (const std::string why = pods_.holdsBack(*gang, parts_.cache); !why.empty())
      return holdBack(why);
  queued->why.clear();
  const std::optional<std::string> place = parts_.cache.pods().nodeOf(uid);
  if (place && std::find(nodes.begin(), nodes.end(), *place) != nodes.end()) {
    FilterResult choice;
    choice.ours = true;
    choice.node = place;
    return choice;
  }
  // kube-scheduler excludes the reserved node, or the reservation expired: any node, within the
  // queue's quota.
  charges_.discharge(uid);
  Result<FilterResult> choice = parts_.cache.filterAndReserve(pod, nodes, expires);
  if (!choice || !choice->node) return choice;
  const Result<std::string> queue = charges_.queueOf(*queued);
  if (!queue || !queue->empty()) {
    const auto no = queue ? parts_.queues.checkQuota(*queue, parts_.cache.pods().useOf(uid))
                          : std::optional<QueueTree::QuotaRefusal>({queue.error().message(), ""});
    if (no) {
      parts_.cache.unreserve(uid);
      return holdBack(no->why);
    }
  }
  charges_.charge(uid, queue ? *queue : "");
  return choice;
}

std::vector<PodRef> GatedPodQueue::released() {
  std::vector<PodRef> all;
  for (auto& [uid, queued] : pods_.all()) {
    if (!queued.held_back || !queued.free()) continue;
    const Gang* gang = pods_.gangOf(queued);
    const bool may = gang == nullptr || pods_.holdsBack(*gang, parts_.cache).empty();
    if (!may || !parts_.cache.pods().nodeOf(uid)) continue;
    queued.held_back = false;
    all.push_back({queued.pod.meta.namespace_name, queued.pod.meta.name});
  }
  return all;
}

std::vector<GatedPodStatus> GatedPodQueue::waiting() const {
  std::vector<GatedPodStatus> all;
  for (const auto& [uid, queued] : pods_.all()) {
    const Gang* gang = pods_.gangOf(queued);
    const bool held = gang != nullptr && !pods_.holdsBack(*gang, parts_.cache).empty();
    if (!queued.free() || !(queued.gated() || held || queued.held_back)) continue;
    const Result<std::string> queue = charges_.queueOf(queued);
    std::string why = queued.why;
    if (why.empty() && !queued.fault.empty()) why = queued.fault;
    if (why.empty() && !queue) why = queue.error().message();
    if (why.empty())
      why = queued.gate == GateState::kOpening ? "admitted, its gate is being removed"
                                               : "waits for evaluation";
    all.push_back(
        {queued.pod.meta.namespace_name, queued.pod.meta.name, uid, queue ? *queue : "", why});
  }
  return all;
}

}  // namespace divvy::scheduler
