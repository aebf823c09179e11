#include "queue/queued_pods.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

// Annotations that Divvy writes do not decide where a pod fits.
constexpr std::string_view kOurKeys = "divvy.dev/";

// The fields that decide where a pod fits, and whether it does.
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
  return pod.meta.namespace_name + text;
}

}  // namespace

QueuedPod& QueuedPods::set(const kube::Pod& pod, Description description) {
  QueuedPod& queued = pods_[pod.meta.uid];
  const std::string gang_key =
      description.words ? pod.meta.namespace_name + '/' + description.words->name : "";
  if (queued.gang != gang_key) leaveGang(queued);
  queued.pod = pod;
  queued.created = std::move(description.created);
  queued.devices = description.devices;
  queued.alike = alikeOf(pod);
  if (!isGated(pod)) queued.gate = GateState::kOpen;
  queued.fault = std::move(description.fault);
  if (description.plan) queued.plan = std::move(description.plan);
  queued.words = std::move(description.words);
  if (!queued.words) return queued;
  queued.gang = gang_key;
  Gang& gang = gangs_[gang_key];
  gang.members.insert(pod.meta.uid);
  gang.started = gang.started || queued.bound();
  return queued;
}

void QueuedPods::remove(const std::string& uid) {
  const auto queued = pods_.find(uid);
  if (queued == pods_.end()) return;
  leaveGang(queued->second);
  pods_.erase(queued);
}

void QueuedPods::leaveGang(QueuedPod& queued) {
  const auto gang = gangs_.find(queued.gang);
  queued.gang.clear();
  if (gang == gangs_.end()) return;
  gang->second.members.erase(queued.pod.meta.uid);
  if (gang->second.members.empty()) gangs_.erase(gang);
}

QueuedPod* QueuedPods::find(const std::string& uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const QueuedPod* QueuedPods::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

std::vector<const kube::Pod*> QueuedPods::unbound() const {
  std::vector<const kube::Pod*> all;
  for (const auto& [uid, queued] : pods_)
    if (queued.free()) all.push_back(&queued.pod);
  return all;
}

const Gang* QueuedPods::gangOf(const QueuedPod& queued) const {
  const auto found = gangs_.find(queued.gang);
  return found == gangs_.end() ? nullptr : &found->second;
}

void QueuedPods::setMinMember(const MinMemberRef& in, Result<std::uint32_t> least) {
  least_.insert_or_assign(in.path, std::move(least));
}

std::vector<MinMemberRef> QueuedPods::unknownMinMembers() const {
  std::vector<MinMemberRef> all;
  for (const auto& [key, gang] : gangs_) {
    if (gang.started) continue;
    const std::optional<MinMemberRef>& in = at(*gang.members.begin()).words->in;
    const auto known = in ? least_.find(in->path) : least_.end();
    if (in && (known == least_.end() || !known->second)) all.push_back(*in);
  }
  return all;
}

Result<std::uint32_t> QueuedPods::minMemberOf(const Gang& gang) const {
  std::uint32_t most = 1;
  for (const std::string& uid : gang.members) {
    const PodGroupRef& words = *at(uid).words;
    if (words.least) most = std::max(most, *words.least);
    if (words.least || !words.in) continue;
    const auto known = least_.find(words.in->path);
    if (known == least_.end())
      return Error{ErrorCode::kUnavailable, "minimum number of its gang is not read yet"};
    if (!known->second) return known->second.error();
    most = std::max(most, *known->second);
  }
  return most;
}

std::string QueuedPods::holdsBack(const Gang& gang, const SchedulerCache& cache) const {
  if (gang.started) return "";
  const Result<std::uint32_t> least = minMemberOf(gang);
  if (!least) return "its gang waits: " + least.error().message();
  std::size_t have = 0, gated = 0;
  for (const std::string& uid : gang.members) {
    const QueuedPod& queued = at(uid);
    if (!queued.free() || !cache.pods().nodeOf(uid)) continue;
    ++have;
    if (queued.gated()) ++gated;
  }
  if (have < *least)
    return "its gang waits: " + std::to_string(have) + " of " + std::to_string(*least) +
           " members fit";
  if (gated > 0)
    return "its gang is admitted: the gates of " + std::to_string(gated) + " of " +
           std::to_string(have) + " members are being removed";
  return "";
}

void QueuedPods::sort(Uids* uids) const {
  std::sort(uids->begin(), uids->end(), [&](const std::string& a, const std::string& b) {
    const QueuedPod &x = at(a), &y = at(b);
    return std::tuple(x.gated(), x.created, x.pod.meta.name) <
           std::tuple(y.gated(), y.created, y.pod.meta.name);
  });
}

}  // namespace divvy::scheduler
