#include "preemption/running_pods.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "annotations/disruption_annotations.h"
#include "base/quantity.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kMirror = "kubernetes.io/config.mirror";

// The amount of a resource; none: it is not stated.
Result<std::optional<Quantity>> amount(const kube::Quantities& from, const std::string& resource) {
  const auto found = from.find(resource);
  if (found == from.end()) return std::optional<Quantity>();
  Result<Quantity> read = Quantity::parse(found->second);
  if (!read) return std::move(read).error().context(resource);
  if (read->negative())
    return Error{ErrorCode::kUsage, resource + ": " + found->second + " is negative"};
  return std::optional(*read);
}

Result<PodResources> roomIn(const kube::Quantities& requests) {
  const auto cpu = amount(requests, "cpu");
  if (!cpu) return cpu.error();
  const auto memory = amount(requests, "memory");
  if (!memory) return memory.error();
  PodResources resources;
  if (*cpu) resources.cpu.milli = (*cpu)->milli();
  // A fraction of a byte is a whole one.
  if (*memory) resources.memory = Bytes{static_cast<std::uint64_t>((*memory)->ceil())};
  return resources;
}

PodResources both(PodResources a, PodResources b) {
  return {a.cpu + b.cpu, a.memory + b.memory};
}
PodResources most(PodResources a, PodResources b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}
PodResources least(PodResources a, PodResources b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

}  // namespace

Result<PodResources> podResources(const kube::Pod& pod) {
  PodResources sum, peak;
  for (const kube::PodContainer& one : pod.init) {
    const Result<PodResources> resources = roomIn(one.requests);
    if (!resources) return Error(resources.error()).context("container " + one.name);
    peak = most(peak, both(sum, *resources));
    if (one.sidecar) sum = both(sum, *resources);
  }
  for (const kube::PodContainer& one : pod.containers) {
    const Result<PodResources> resources = roomIn(one.requests);
    if (!resources) return Error(resources.error()).context("container " + one.name);
    sum = both(sum, *resources);
  }
  PodResources all = most(sum, peak);
  const Result<PodResources> whole = roomIn(pod.requests);
  if (!whole) return Error(whole.error()).context("the pod");
  if (pod.requests.contains("cpu")) all.cpu = whole->cpu;
  if (pod.requests.contains("memory")) all.memory = whole->memory;
  const Result<PodResources> beside = roomIn(pod.overhead);
  if (!beside) return Error(beside.error()).context("overhead");
  return least(both(all, *beside), {engine::kMaxCpu, {engine::kMaxBytes}});
}

Result<void> RunningPods::set(const kube::Pod& pod) {
  forget(pod.meta.uid);
  if (pod.node.empty() || pod.ended()) {
    terminating_.erase(pod.meta.uid);
    return {};
  }
  RunningPod one;
  one.uid = pod.meta.uid;
  one.namespace_name = pod.meta.namespace_name;
  one.name = pod.meta.name;
  one.node = pod.node;
  one.labels = pod.meta.labels;
  one.priority = pod.priority;
  one.placed_at = pod.placed_at;
  one.grace = std::max<std::int64_t>(pod.grace, 0);
  one.terminating = pod.meta.deleting || terminating_.contains(one.uid);
  one.started = pod.phase != kube::PodPhase::kPending;
  const std::string* evictable = annotationOf(pod.meta.annotations, kEvictable);
  one.fixed = (evictable != nullptr && *evictable != "true") || pod.controller == "DaemonSet" ||
              pod.meta.annotations.contains(kMirror);
  Result<void> fault = checkProtection(pod.meta.annotations);
  const Result<std::optional<PodGroupRef>> gang = gangOf(pod);
  if (gang && *gang) one.group = pod.meta.namespace_name + '/' + (*gang)->name;
  if (const std::string* text = annotationOf(pod.meta.annotations, kMinRuntime))
    if (const Result<std::int64_t> read = secondsOf(*text)) one.min_runtime = *read;
  const Result<PodResources> resources = podResources(pod);
  if (resources) one.resources = *resources;
  if (!resources) fault = resources.error();
  if (!fault) one.fixed = true;
  // A group that cannot be read protects no pod: its author writes it, with any rule about
  // evictions.
  if (!gang && fault) fault = gang.error();
  on_[one.node].insert(one.uid);
  if (!one.group.empty()) groups_[one.group].insert(one.uid);
  ++priorities_[one.priority];
  const std::string uid = one.uid;
  all_.insert_or_assign(uid, std::move(one));
  if (fault) return {};
  return std::move(fault).error().context("pod " + pod.meta.namespace_name + '/' + pod.meta.name);
}

void RunningPods::remove(const std::string& uid) {
  forget(uid);
  terminating_.erase(uid);
}

void RunningPods::markTerminating(const std::string& uid) {
  const auto at = all_.find(uid);
  if (at == all_.end()) return;
  at->second.terminating = true;
  terminating_.insert(uid);
}

void RunningPods::forget(const std::string& uid) {
  const auto at = all_.find(uid);
  if (at == all_.end()) return;
  const auto leave = [&](auto* from, const std::string& key) {
    const auto there = from->find(key);
    if (there == from->end()) return;
    there->second.erase(uid);
    if (there->second.empty()) from->erase(there);
  };
  leave(&on_, at->second.node);
  leave(&groups_, at->second.group);
  const auto level = priorities_.find(at->second.priority);
  if (--level->second == 0) priorities_.erase(level);
  all_.erase(at);
}

const RunningPod* RunningPods::find(const std::string& uid) const {
  const auto at = all_.find(uid);
  return at == all_.end() ? nullptr : &at->second;
}

std::vector<const RunningPod*> RunningPods::on(const std::string& node) const {
  std::vector<const RunningPod*> there;
  const auto at = on_.find(node);
  if (at != on_.end())
    for (const std::string& uid : at->second) there.push_back(&all_.at(uid));
  return there;
}

std::vector<const RunningPod*> RunningPods::inGroup(const std::string& group) const {
  std::vector<const RunningPod*> members;
  const auto at = groups_.find(group);
  if (at != groups_.end())
    for (const std::string& uid : at->second) members.push_back(&all_.at(uid));
  return members;
}

std::vector<std::string> RunningPods::terminating() const {
  std::vector<std::string> uids;
  for (const auto& [uid, one] : all_)
    if (one.terminating) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

bool RunningPods::anyBelow(std::int64_t priority) const {
  return !priorities_.empty() && priorities_.begin()->first < priority;
}

}  // namespace divvy::scheduler
