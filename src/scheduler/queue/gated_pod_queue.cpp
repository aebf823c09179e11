#include "queue/gated_pod_queue.h"

#include <algorithm>

#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

// What we write there decides nothing.
constexpr std::string_view kOurKeys = "divvy.dev/";

// What decides where a pod fits, and whether it does.
std::string alikeOf(const kube::Pod& pod) {
  std::string text;
  for (const auto* list : {&pod.init, &pod.containers}) {
    for (const kube::PodContainer& one : *list) {
      text += one.sidecar ? "|s" : "|";
      for (const kube::Quantities* amounts : {&one.limits, &one.requests})
        for (const auto& [name, amount] : *amounts) text += name + '=' + amount + ',';
    }
    text += '/';
  }
  for (const auto& [key, value] : pod.meta.annotations)
    if (!key.starts_with(kOurKeys)) text += key + '=' + value + ';';
  return pod.meta.space + text;
}

// Of a pod that is bound nothing else is needed any more.
void trim(kube::Pod* pod) {
  pod->init.clear();
  pod->containers.clear();
  pod->meta.annotations.clear();
  pod->meta.labels.clear();
}

}  // namespace

GatedPodQueue::GatedPodQueue(const vendors::Catalog& catalog, SchedulerCache& cache,
                             QueueTree& queues)
    : catalog_(catalog), cache_(cache), queues_(queues) {}

// ---- who is there -------------------------------------------------------------------------------

void GatedPodQueue::setPod(const kube::Pod& pod, const std::string& created) {
  const std::string& uid = pod.meta.uid;
  const auto note = pod.meta.annotations.find(kPlanKey);
  const bool promised = note != pod.meta.annotations.end();
  Result<std::optional<PodGroupRef>> words = std::optional<PodGroupRef>();
  const bool devices = asksForDevices(pod, catalog_);
  if (devices) words = gangOf(pod);
  const bool grouped = words && *words;
  if (!isGated(pod) && !promised && !grouped && words) {
    if (!devices || pod.node.empty() || pod.ended()) return removePod(uid);
    ungated_.insert_or_assign(
        uid, UngatedPod{pod.meta.space, queueNamedBy(pod), {pod.priority, pod.placed_at, ""}});
    return chargeUngated(uid);
  }
  stirred_ = true;
  QueuedPod& queued = queued_[uid];
  const bool opened = queued.opened;
  queued.pod = pod;
  queued.created = created;
  queued.devices = devices;
  queued.alike = alikeOf(pod);
  queued.opened = opened || !isGated(pod);
  queued.fault = words ? "" : words.error().message();
  if (promised) {
    Result<ReservationAnnotation> plan = decodePlan(note->second);
    if (plan) queued.plan = std::move(*plan);
  }
  if (grouped) {
    queued.words = std::move(*words);
    queued.gang = pod.meta.space + '/' + queued.words->name;
    Gang& gang = gangs_[queued.gang];
    gang.members.insert(uid);
    gang.started = gang.started || queued.bound();
  }
  if (pod.meta.deleting && clearances_ != nullptr) clearances_->drop(uid);
  if (!queued.bound() && !pod.ended()) return;
  if (clearances_ != nullptr) clearances_->drop(uid);
  if (pod.ended()) {
    queues_.discharge(uid);
  } else {
    const Result<std::string> queue = queueOf(queued);
    chargeFor(uid, queue ? *queue : "");
  }
  trim(&queued.pod);
}

void GatedPodQueue::removePod(const std::string& uid) {
  stirred_ = true;
  ungated_.erase(uid);
  queues_.discharge(uid);
  if (clearances_ != nullptr) clearances_->drop(uid);
  const auto queued = queued_.find(uid);
  if (queued == queued_.end()) return;
  const auto gang = gangs_.find(queued->second.gang);
  if (gang != gangs_.end()) {
    gang->second.members.erase(uid);
    if (gang->second.members.empty()) gangs_.erase(gang);
  }
  queued_.erase(queued);
}

void GatedPodQueue::setMinMember(const MinMemberRef& in, Result<std::uint32_t> least) {
  least_.insert_or_assign(in.path, std::move(least));
  stirred_ = true;
}

std::vector<MinMemberRef> GatedPodQueue::unknownMinMembers() const {
  std::vector<MinMemberRef> all;
  for (const auto& [key, gang] : gangs_) {
    if (gang.started) continue;
    const std::optional<MinMemberRef>& in = queued_.at(*gang.members.begin()).words->in;
    const auto known = in ? least_.find(in->path) : least_.end();
    if (in && (known == least_.end() || !known->second)) all.push_back(*in);
  }
  return all;
}

Result<std::uint32_t> GatedPodQueue::minMemberOfGang(const Gang& gang) const {
  std::uint32_t most = 1;
  for (const std::string& uid : gang.members) {
    const PodGroupRef& words = *queued_.at(uid).words;
    if (words.least) most = std::max(most, *words.least);
    if (words.least || !words.in) continue;
    const auto known = least_.find(words.in->path);
    if (known == least_.end())
      return Error{ErrorCode::kUnavailable, "how many start together is not read yet"};
    if (!known->second) return known->second.error();
    most = std::max(most, *known->second);
  }
  return most;
}

Result<std::string> GatedPodQueue::queueOf(const QueuedPod& queued) const {
  // What was promised counts where it was promised.
  if (queued.plan && !queued.gated()) return queued.plan->queue;
  return queues_.queueFor(queued.pod.meta.space, queueNamedBy(queued.pod));
}

void GatedPodQueue::chargeFor(const std::string& uid, const std::string& queue) {
  const auto queued = queued_.find(uid);
  QueueTree::ReclaimOrder standing;
  if (queued != queued_.end())
    standing = {queued->second.pod.priority, queued->second.pod.placed_at, queued->second.gang};
  queues_.charge(uid, {queue, cache_.useOf(uid), std::move(standing)});
}

void GatedPodQueue::chargeUngated(const std::string& uid) {
  const UngatedPod& other = ungated_.at(uid);
  const auto queue = queues_.queueFor(other.space, other.named);
  queues_.charge(uid, {queue ? *queue : "", cache_.useOf(uid), other.standing});
}

std::string GatedPodQueue::overQueueQuota(const std::string& uid) {
  const auto held = queues_.held().find(uid);
  if (held == queues_.held().end() || held->second.queue.empty()) return {};
  const QueueTree::QueueCharge was = held->second;
  const std::vector<ModelUsage> wanted = cache_.useOf(uid);
  const bool less = std::all_of(wanted.begin(), wanted.end(), [&](const ModelUsage& one) {
    return std::any_of(was.use.begin(), was.use.end(), [&](const ModelUsage& other) {
      return other.model == one.model && one.milli <= other.milli &&
             one.mebibytes <= other.mebibytes;
    });
  });
  if (less) return {};
  queues_.discharge(uid);
  const std::optional<QueueTree::QuotaRefusal> no = queues_.checkQuota(was.queue, wanted);
  // Whoever is looked at next finds it counted.
  queues_.charge(uid, no ? was : QueueTree::QueueCharge{was.queue, wanted, was.standing});
  return no ? no->why : std::string();
}

void GatedPodQueue::unreserveAll(const Uids& uids) {
  for (const std::string& uid : uids) {
    cache_.unreserve(uid);
    queues_.discharge(uid);
  }
}

void GatedPodQueue::recount() {
  stirred_ = true;
  queues_.setCapacity(cache_.capacity());
  for (const auto& [uid, who] : ungated_) chargeUngated(uid);
  for (const auto& [uid, queued] : queued_) {
    if (!queued.bound() || queued.pod.ended()) continue;
    const auto queue = queueOf(queued);
    chargeFor(uid, queue ? *queue : "");
  }
}

// What was written of promises is booked again, before anybody else is promised anything.
void GatedPodQueue::restoreReservations(engine::Instant expires) {
  recount();
  for (auto& [uid, queued] : queued_) {
    if (!queued.free() || queued.gated() || !queued.plan || reserved(uid)) continue;
    const Result<void> again = cache_.restoreReservation(queued.pod, queued.plan->place, expires);
    if (again) chargeFor(uid, queued.plan->queue);
  }
  settled_ = true;
}

// ---- who may be bound ---------------------------------------------------------------------------

std::string GatedPodQueue::holdsBack(const Gang& gang) const {
  if (gang.started) return "";
  const Result<std::uint32_t> least = minMemberOfGang(gang);
  if (!least) return "its gang waits: " + least.error().message();
  std::size_t have = 0, gated = 0;
  for (const std::string& uid : gang.members) {
    const QueuedPod& queued = queued_.at(uid);
    if (!queued.free() || !reserved(uid)) continue;
    ++have;
    if (queued.gated()) ++gated;
  }
  if (have < *least)
    return "its gang waits: " + std::to_string(have) + " of " + std::to_string(*least) +
           " members have a place";
  if (gated > 0)
    return "its gang is being started: the gates of " + std::to_string(gated) + " of " +
           std::to_string(have) + " members are still there";
  return "";
}

FilterResult GatedPodQueue::refusedEverywhere(std::span<const std::string_view> nodes,
                                              const std::string& why) const {
  FilterResult choice;
  choice.ours = true;
  const Reason shared(why);
  for (const std::string_view node : nodes) choice.why.emplace(node, shared);
  return choice;
}

Result<FilterResult> GatedPodQueue::filterAndReserve(const kube::Pod& pod,
                                                     std::span<const std::string_view> nodes,
                                                     engine::Instant expires) {
  const std::string& uid = pod.meta.uid;
  const auto found = queued_.find(uid);
  if (found == queued_.end()) return cache_.filterAndReserve(pod, nodes, expires);
  QueuedPod& queued = found->second;
  const auto gang = gangs_.find(queued.gang);
  if (gang != gangs_.end()) {
    if (const std::string why = holdsBack(gang->second); !why.empty()) {
      queued.held_back = true;
      queued.why = why;
      return refusedEverywhere(nodes, why);
    }
  }
  queued.why.clear();
  const std::optional<std::string> place = cache_.nodeOf(uid);
  if (place && std::find(nodes.begin(), nodes.end(), *place) != nodes.end()) {
    FilterResult choice;
    choice.ours = true;
    choice.node = place;
    return choice;
  }
  // kube-scheduler does not want it there, or it came too late: as any other, within its queue.
  queues_.discharge(uid);
  Result<FilterResult> choice = cache_.filterAndReserve(pod, nodes, expires);
  if (!choice || !choice->node) return choice;
  const Result<std::string> queue = queueOf(queued);
  if (!queue || !queue->empty()) {
    const auto no = queue ? queues_.checkQuota(*queue, cache_.useOf(uid))
                          : std::optional<QueueTree::QuotaRefusal>({queue.error().message(), ""});
    if (no) {
      cache_.unreserve(uid);
      queued.held_back = true;
      queued.why = no->why;
      return refusedEverywhere(nodes, no->why);
    }
  }
  chargeFor(uid, queue ? *queue : "");
  return choice;
}

std::vector<PodRef> GatedPodQueue::released() {
  std::vector<PodRef> all;
  for (auto& [uid, queued] : queued_) {
    if (!queued.held_back || !queued.free()) continue;
    const auto gang = gangs_.find(queued.gang);
    const bool may = gang == gangs_.end() || holdsBack(gang->second).empty();
    if (!may || !reserved(uid)) continue;
    queued.held_back = false;
    all.push_back({queued.pod.meta.space, queued.pod.meta.name});
  }
  return all;
}

std::vector<GatedPodStatus> GatedPodQueue::waiting() const {
  std::vector<GatedPodStatus> all;
  for (const auto& [uid, queued] : queued_) {
    const bool held = !queued.gang.empty() && !gangs_.at(queued.gang).started &&
                      !holdsBack(gangs_.at(queued.gang)).empty();
    if (!queued.free() || !(queued.gated() || held || queued.held_back)) continue;
    const Result<std::string> queue = queueOf(queued);
    std::string why = queued.why;
    if (why.empty() && !queued.fault.empty()) why = queued.fault;
    if (why.empty() && !queue) why = queue.error().message();
    if (why.empty()) why = queued.opening ? "it is being started" : "it is to be looked at";
    all.push_back({queued.pod.meta.space, queued.pod.meta.name, uid, queue ? *queue : "", why});
  }
  return all;
}

}  // namespace divvy::scheduler
