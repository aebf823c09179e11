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

Gatehouse::Gatehouse(const vendors::Catalog& catalog, Books& books, Queues& queues)
    : catalog_(catalog), books_(books), queues_(queues) {}

// ---- who is there -------------------------------------------------------------------------------

void Gatehouse::setPod(const kube::Pod& pod, const std::string& created) {
  const std::string& uid = pod.meta.uid;
  const auto note = pod.meta.annotations.find(kPlanKey);
  const bool promised = note != pod.meta.annotations.end();
  Result<std::optional<GangWords>> words = std::optional<GangWords>();
  const bool devices = asksForDevices(pod, catalog_);
  if (devices) words = gangOf(pod);
  const bool grouped = words && *words;
  if (!isGated(pod) && !promised && !grouped && words) {
    if (!devices || pod.node.empty() || pod.ended()) return removePod(uid);
    others_.insert_or_assign(
        uid, Other{pod.meta.space, queueNamedBy(pod), {pod.priority, pod.placed_at, ""}});
    return chargeOther(uid);
  }
  stirred_ = true;
  Seat& seat = seats_[uid];
  const bool opened = seat.opened;
  seat.pod = pod;
  seat.created = created;
  seat.devices = devices;
  seat.alike = alikeOf(pod);
  seat.opened = opened || !isGated(pod);
  seat.fault = words ? "" : words.error().message();
  if (promised) {
    Result<PlanNote> plan = decodePlan(note->second);
    if (plan) seat.plan = std::move(*plan);
  }
  if (grouped) {
    seat.words = std::move(*words);
    seat.gang = pod.meta.space + '/' + seat.words->name;
    Gang& gang = gangs_[seat.gang];
    gang.members.insert(uid);
    gang.started = gang.started || seat.bound();
  }
  if (pod.meta.deleting && clearances_ != nullptr) clearances_->drop(uid);
  if (!seat.bound() && !pod.ended()) return;
  if (clearances_ != nullptr) clearances_->drop(uid);
  if (pod.ended()) {
    queues_.discharge(uid);
  } else {
    const Result<std::string> queue = queueOf(seat);
    chargeFor(uid, queue ? *queue : "");
  }
  trim(&seat.pod);
}

void Gatehouse::removePod(const std::string& uid) {
  stirred_ = true;
  others_.erase(uid);
  queues_.discharge(uid);
  if (clearances_ != nullptr) clearances_->drop(uid);
  const auto seat = seats_.find(uid);
  if (seat == seats_.end()) return;
  const auto gang = gangs_.find(seat->second.gang);
  if (gang != gangs_.end()) {
    gang->second.members.erase(uid);
    if (gang->second.members.empty()) gangs_.erase(gang);
  }
  seats_.erase(seat);
}

void Gatehouse::setLeast(const LeastIn& in, Result<std::uint32_t> least) {
  least_.insert_or_assign(in.path, std::move(least));
  stirred_ = true;
}

std::vector<LeastIn> Gatehouse::unknownLeast() const {
  std::vector<LeastIn> all;
  for (const auto& [key, gang] : gangs_) {
    if (gang.started) continue;
    const std::optional<LeastIn>& in = seats_.at(*gang.members.begin()).words->in;
    const auto known = in ? least_.find(in->path) : least_.end();
    if (in && (known == least_.end() || !known->second)) all.push_back(*in);
  }
  return all;
}

Result<std::uint32_t> Gatehouse::leastOf(const Gang& gang) const {
  std::uint32_t most = 1;
  for (const std::string& uid : gang.members) {
    const GangWords& words = *seats_.at(uid).words;
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

Result<std::string> Gatehouse::queueOf(const Seat& seat) const {
  // What was promised counts where it was promised.
  if (seat.plan && !seat.gated()) return seat.plan->queue;
  return queues_.queueFor(seat.pod.meta.space, queueNamedBy(seat.pod));
}

void Gatehouse::chargeFor(const std::string& uid, const std::string& queue) {
  const auto seat = seats_.find(uid);
  Queues::Standing standing;
  if (seat != seats_.end())
    standing = {seat->second.pod.priority, seat->second.pod.placed_at, seat->second.gang};
  queues_.charge(uid, {queue, books_.useOf(uid), std::move(standing)});
}

void Gatehouse::chargeOther(const std::string& uid) {
  const Other& other = others_.at(uid);
  const auto queue = queues_.queueFor(other.space, other.named);
  queues_.charge(uid, {queue ? *queue : "", books_.useOf(uid), other.standing});
}

std::string Gatehouse::beyondQueue(const std::string& uid) {
  const auto held = queues_.held().find(uid);
  if (held == queues_.held().end() || held->second.queue.empty()) return {};
  const Queues::Held was = held->second;
  const std::vector<ModelUse> wanted = books_.useOf(uid);
  const bool less = std::all_of(wanted.begin(), wanted.end(), [&](const ModelUse& one) {
    return std::any_of(was.use.begin(), was.use.end(), [&](const ModelUse& other) {
      return other.model == one.model && one.milli <= other.milli &&
             one.mebibytes <= other.mebibytes;
    });
  });
  if (less) return {};
  queues_.discharge(uid);
  const std::optional<Queues::No> no = queues_.refuse(was.queue, wanted);
  // Whoever is looked at next finds it counted.
  queues_.charge(uid, no ? was : Queues::Held{was.queue, wanted, was.standing});
  return no ? no->why : std::string();
}

void Gatehouse::giveBack(const Uids& uids) {
  for (const std::string& uid : uids) {
    books_.unplan(uid);
    queues_.discharge(uid);
  }
}

void Gatehouse::recount() {
  stirred_ = true;
  queues_.setCapacity(books_.capacity());
  for (const auto& [uid, who] : others_) chargeOther(uid);
  for (const auto& [uid, seat] : seats_) {
    if (!seat.bound() || seat.pod.ended()) continue;
    const auto queue = queueOf(seat);
    chargeFor(uid, queue ? *queue : "");
  }
}

// What was written of promises is booked again, before anybody else is promised anything.
void Gatehouse::settle(engine::Instant expires) {
  recount();
  for (auto& [uid, seat] : seats_) {
    if (!seat.free() || seat.gated() || !seat.plan || reserved(uid)) continue;
    const Result<void> again = books_.planAgain(seat.pod, seat.plan->place, expires);
    if (again) chargeFor(uid, seat.plan->queue);
  }
  settled_ = true;
}

// ---- who may be bound ---------------------------------------------------------------------------

std::string Gatehouse::holdsBack(const Gang& gang) const {
  if (gang.started) return "";
  const Result<std::uint32_t> least = leastOf(gang);
  if (!least) return "its gang waits: " + least.error().message();
  std::size_t have = 0, gated = 0;
  for (const std::string& uid : gang.members) {
    const Seat& seat = seats_.at(uid);
    if (!seat.free() || !reserved(uid)) continue;
    ++have;
    if (seat.gated()) ++gated;
  }
  if (have < *least)
    return "its gang waits: " + std::to_string(have) + " of " + std::to_string(*least) +
           " members have a place";
  if (gated > 0)
    return "its gang is being started: the gates of " + std::to_string(gated) + " of " +
           std::to_string(have) + " members are still there";
  return "";
}

Choice Gatehouse::refusedEverywhere(std::span<const std::string_view> nodes,
                                    const std::string& why) const {
  Choice choice;
  choice.ours = true;
  const Reason shared(why);
  for (const std::string_view node : nodes) choice.why.emplace(node, shared);
  return choice;
}

Result<Choice> Gatehouse::choose(const kube::Pod& pod, std::span<const std::string_view> nodes,
                                 engine::Instant expires) {
  const std::string& uid = pod.meta.uid;
  const auto found = seats_.find(uid);
  if (found == seats_.end()) return books_.choose(pod, nodes, expires);
  Seat& seat = found->second;
  const auto gang = gangs_.find(seat.gang);
  if (gang != gangs_.end()) {
    if (const std::string why = holdsBack(gang->second); !why.empty()) {
      seat.held_back = true;
      seat.why = why;
      return refusedEverywhere(nodes, why);
    }
  }
  seat.why.clear();
  const std::optional<std::string> place = books_.placeOf(uid);
  if (place && std::find(nodes.begin(), nodes.end(), *place) != nodes.end()) {
    Choice choice;
    choice.ours = true;
    choice.node = place;
    return choice;
  }
  // kube-scheduler does not want it there, or it came too late: as any other, within its queue.
  queues_.discharge(uid);
  Result<Choice> choice = books_.choose(pod, nodes, expires);
  if (!choice || !choice->node) return choice;
  const Result<std::string> queue = queueOf(seat);
  if (!queue || !queue->empty()) {
    const auto no = queue ? queues_.refuse(*queue, books_.useOf(uid))
                          : std::optional<Queues::No>({queue.error().message(), ""});
    if (no) {
      books_.unplan(uid);
      seat.held_back = true;
      seat.why = no->why;
      return refusedEverywhere(nodes, no->why);
    }
  }
  chargeFor(uid, queue ? *queue : "");
  return choice;
}

std::vector<Waiting> Gatehouse::released() {
  std::vector<Waiting> all;
  for (auto& [uid, seat] : seats_) {
    if (!seat.held_back || !seat.free()) continue;
    const auto gang = gangs_.find(seat.gang);
    const bool may = gang == gangs_.end() || holdsBack(gang->second).empty();
    if (!may || !reserved(uid)) continue;
    seat.held_back = false;
    all.push_back({seat.pod.meta.space, seat.pod.meta.name});
  }
  return all;
}

std::vector<Queued> Gatehouse::waiting() const {
  std::vector<Queued> all;
  for (const auto& [uid, seat] : seats_) {
    const bool held = !seat.gang.empty() && !gangs_.at(seat.gang).started &&
                      !holdsBack(gangs_.at(seat.gang)).empty();
    if (!seat.free() || !(seat.gated() || held || seat.held_back)) continue;
    const Result<std::string> queue = queueOf(seat);
    std::string why = seat.why;
    if (why.empty() && !seat.fault.empty()) why = seat.fault;
    if (why.empty() && !queue) why = queue.error().message();
    if (why.empty()) why = seat.opening ? "it is being started" : "it is to be looked at";
    all.push_back({seat.pod.meta.space, seat.pod.meta.name, uid, queue ? *queue : "", why});
  }
  return all;
}

}  // namespace divvy::scheduler
