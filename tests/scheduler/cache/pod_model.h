// Pods and nodes of a scheduler cache, and a simple model of the states that events lead to. After
// each event the states are the model's, devices and quotas hold the sum over all entries, and no
// transition was refused.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "annotations/pending_resize.h"
#include "cache/cache_parts.h"
#include "controllers/resize_plan.h"
#include "kube/registration.h"
#include "kube/resize_request.h"
#include "world.h"

namespace divvy::scheduler {

inline constexpr std::int64_t kLifeMs = 1'000;  // of reservations and nominations
inline constexpr std::size_t kPods = 8;
inline constexpr const char* kQuotaNamespace = "default";  // the namespace with a quota
inline const std::vector<std::string> kNodes{"a", "b", "cores", "plugin"};

// "cores": one device with two cores; "plugin": two devices of a vendor plugin; else two devices.
inline kube::Node nodeNamed(const std::string& name, std::size_t version) {
  kube::Node node;
  node.meta.name = node.meta.uid = name;
  node.meta.labels = {{"version", std::to_string(version)}};
  if (name == "plugin") node.capacity = {{"nvidia.com/gpu", "2"}};
  if (name == "cores")
    node.capacity = {{"aws.amazon.com/neuron", "1"}, {"aws.amazon.com/neuroncore", "2"}};
  node.allocatable = node.capacity;
  if (!node.capacity.empty()) return node;
  std::vector<kube::RegisteredDevice> devices(2);
  for (std::uint32_t at = 0; at < 2; ++at) {
    devices[at].id = "GPU-" + name + '-' + std::to_string(at);
    devices[at].index = at;
    devices[at].count = 4;
    devices[at].mebibytes = 80'000;
    devices[at].cores = 100;
    devices[at].type = "NVIDIA H100";
    devices[at].healthy = true;
  }
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(devices);
  return node;
}

inline Texts limitsOf(std::size_t slot) {
  if (slot >= 6) return {{"aws.amazon.com/neuroncore", "1"}};
  if (slot == 5) return {{"nvidia.com/gpu", "1"}};
  return {{"nvidia.com/gpu", "1"},
          {"nvidia.com/gpumem", std::to_string(20'000 * (1 + slot % 3))},
          {"nvidia.com/gpucores", "10"}};
}

struct ModelNomination {
  std::string node;
  std::int64_t until = 0;
};

// What the model knows of a pod.
struct ModelPod {
  kube::Pod pod;  // as it was created
  PodState state = PodState::kPending;
  std::string node;
  std::int64_t expires = 0;       // of a reservation
  bool answered = false;          // by fitting()
  bool plugin = false;            // bound to "plugin" without an assignment
  std::optional<kube::Pod> said;  // as the watch reports it once it is bound
  std::optional<ModelNomination> nomination;
};

struct Event {
  unsigned what = 0;
  std::size_t slot = 0;
  std::size_t arg = 0;
};

class PodModel {
 public:
  PodModel() {
    kube::ResourceQuota quota;
    quota.meta.uid = quota.meta.name = "q";
    quota.meta.namespace_name = kQuotaNamespace;
    quota.hard = {{"limits.nvidia.com/gpumem", "150000"}};
    check(parts_.state.quotas.set(quota).has_value());
    for (std::size_t slot = 0; slot < kPods; ++slot) create(slot);
    for (std::size_t at = 0; at < kNodes.size(); ++at) setNode(at);
  }

  static constexpr unsigned kEvents = 16;

  void apply(const Event& event) {
    ModelPod& one = pods_[event.slot];
    switch (event.what) {
      case 0:
      case 1:
        return filter(one, event.arg);
      case 2:
        return fitting(one);
      case 3:
        return reserve(one, kNodes[event.arg % kNodes.size()]);
      case 4:
        return plan(event.slot, event.arg);
      case 5:
      case 6:
        return assume(one, event.arg);
      case 7:
        return finish(one, event.arg);
      case 8:
        return report(one);
      case 9:
        return event.arg % 3 == 0 ? remove(event.slot) : end(one, event.arg);
      case 10:
        return nominate(one, event.arg);
      case 11:
        return event.arg % 2 == 0 ? denominate(one) : unreserve(one);
      case 12:
        return expire(static_cast<std::int64_t>(event.arg) * 50);
      case 13:
        return removeNode(event.arg);
      case 14:
        return setNode(event.arg);
      default:
        return resize(one, event.arg);
    }
  }

  // Empty: all is as the model and the entries say.
  std::string fault() const {
    if (!fault_.empty()) return fault_;
    const PodTable& table = parts_.state.pods;
    if (table.refused() > 0) return "a transition was refused";
    for (const ModelPod& one : pods_) {
      const std::string& uid = one.pod.meta.uid;
      const PodEntry* entry = table.find(uid);
      const std::string where = entry == nullptr ? "" : entry->node;
      if (table.stateOf(uid) != one.state || where != one.node)
        return uid + " is " + std::string(nameOf(table.stateOf(uid))) + " on '" + where +
               "', not " + std::string(nameOf(one.state)) + " on '" + one.node + '\'';
    }
    for (const std::string& what : {entryFault(), deviceFault(), quotaFault(), coreFault()})
      if (!what.empty()) return what;
    return {};
  }

  const std::set<PodState>& seen() const { return seen_; }
  void look() {
    for (const ModelPod& one : pods_) seen_.insert(one.state);
  }

 private:
  void check(bool so, std::source_location at = std::source_location::current()) {
    if (!so && fault_.empty()) fault_ = "line " + std::to_string(at.line());
  }
  static bool isCores(const ModelPod& one) {
    return one.pod.containers[0].limits.contains("aws.amazon.com/neuroncore");
  }
  static bool known(PodState state) { return !isOnUnknownNode(state); }
  bool known(const std::string& node) const { return nodes_.contains(node); }
  engine::Instant later() const { return {now_ + kLifeMs}; }

  void create(std::size_t slot) {
    ModelPod& one = pods_[slot];
    one = {};
    one.pod = *kube::podOf(podObject({limitsOf(slot)}, {}));
    one.pod.meta.uid = one.pod.meta.name =
        "pod-" + std::to_string(slot) + '-' + std::to_string(++created_);
    one.pod.meta.namespace_name = slot % 2 == 0 ? kQuotaNamespace : "lab";
  }

  // Releases the pod, and restores its nomination if `again`.
  void release(ModelPod& one, bool again) {
    one.state = PodState::kPending;
    one.node.clear();
    one.answered = false;
    // Its core may be another pod's by the time the watch reports it.
    if (isCores(one)) one.said.reset();
    if (again) restore(one);
  }
  void restore(ModelPod& one) {
    if (one.state != PodState::kPending || !one.nomination || !known(one.nomination->node)) return;
    become(one, PodState::kNominated, one.nomination->node);
  }
  void become(ModelPod& one, PodState state, const std::string& node) {
    one.state = state;
    one.node = node;
  }

  void filter(ModelPod& one, std::size_t arg) {
    std::vector<std::string_view> names(kNodes.begin(), kNodes.end());
    if (arg % 2 == 1) names = {kNodes[arg / 2 % kNodes.size()]};
    const Result<FilterResult> result = parts_.filter.filterAndReserve(one.pod, names, later());
    check(result.has_value() == mayBeFiltered(one.state));
    if (!result) return;
    release(one, !result->node);
    if (!result->node) return;
    become(one, PodState::kReserved, *result->node);
    one.expires = later().ms;
  }

  void fitting(ModelPod& one) {
    const std::vector<std::string_view> names(kNodes.begin(), kNodes.end());
    const Result<FilterResult> result = parts_.filter.fitting(one.pod, names);
    check(result.has_value() == mayBeFiltered(one.state));
    if (!result) return;
    release(one, true);
    one.answered = !result->fitting.empty();
  }

  void reserve(ModelPod& one, const std::string& node) {
    const bool same =
        one.node == node && (one.state == PodState::kReserved || one.state == PodState::kNominated);
    const bool free = one.state == PodState::kPending || one.state == PodState::kNominated;
    const Result<void> result = parts_.reservations.reserve(one.pod.meta.uid, node, later());
    if (same) check(result.has_value());
    if (same) return;
    if (!one.answered || !free) {
      check(!result.has_value());
      return;
    }
    if (!result) become(one, PodState::kPending, "");
    if (!result) return restore(one);
    one.answered = false;
    become(one, PodState::kReserved, node);
    one.expires = later().ms;
  }

  void plan(std::size_t slot, std::size_t count) {
    std::vector<ModelPod*> gang;
    std::vector<kube::Pod> pods;
    for (std::size_t i = 0; i <= count % 3; ++i) {
      gang.push_back(&pods_[(slot + i) % kPods]);
      pods.push_back(gang.back()->pod);
    }
    const Result<std::vector<Reservation>> result = parts_.reservations.plan(pods, {}, {}, later());
    bool begun = true;
    for (ModelPod* one : gang) {
      begun = begun && mayBeFiltered(one->state);
      if (begun) release(*one, false);
      if (!result) restore(*one);
    }
    for (std::size_t i = 0; result && i < gang.size(); ++i) {
      become(*gang[i], PodState::kReserved, (*result)[i].node);
      gang[i]->expires = later().ms;
    }
  }

  void assume(ModelPod& one, std::size_t arg) {
    const std::string node = arg % 4 == 0 || one.node.empty() ? kNodes[arg % 3] : one.node;
    const Result<BindPlan> bind = parts_.reservations.assume(one.pod.meta.uid, node, 1);
    const bool good = isPlaced(one.state) && one.state != PodState::kAssumed && node == one.node;
    check(good || !bind);
    // Cores of a nomination may still be the victim's.
    check(bind.has_value() || !good || isCores(one));
    if (!bind) return;
    one.state = PodState::kAssumed;
    one.said = one.pod;
    one.said->node = node;
    one.said->meta.annotations = bind->annotations;
  }

  void finish(ModelPod& one, std::size_t arg) {
    constexpr std::array kEnds{BindOutcome::kBound, BindOutcome::kRefused, BindOutcome::kUncertain};
    const BindOutcome end = kEnds[arg % kEnds.size()];
    parts_.reservations.finishBinding(one.pod.meta.uid, end);
    if (one.state != PodState::kAssumed && one.state != PodState::kAssumedUnknownNode) return;
    if (end == BindOutcome::kRefused) return release(one, true);
    const bool bound = end == BindOutcome::kBound;
    if (bound) one.nomination.reset();
    if (!known(one.state))
      one.state = bound ? PodState::kBoundUnknownNode : PodState::kUncertainUnknownNode;
    else if (bound)
      one.state = one.plugin ? PodState::kCounted : PodState::kBound;
    else
      one.state = PodState::kUncertain;
  }

  void report(ModelPod& one) {
    if (!one.said) {
      check(parts_.updates.setPod(one.pod).has_value());
      return;
    }
    check(parts_.updates.setPod(*one.said).has_value());
    one.nomination.reset();
    one.plugin = one.said->node == "plugin";
    if (one.plugin) return countForPlugin(one);
    const bool there = known(one.said->node);
    become(one, there ? PodState::kBound : PodState::kBoundUnknownNode, one.said->node);
  }
  void countForPlugin(ModelPod& one) {
    if (!isPlaced(one.state) || one.node != "plugin") release(one, false);
    if (!known("plugin") || one.state == PodState::kAssumed) return;
    become(one, PodState::kCounted, "plugin");
  }

  void remove(std::size_t slot) {
    parts_.updates.removePod(pods_[slot].pod.meta.uid);
    check(parts_.state.pods.find(pods_[slot].pod.meta.uid) == nullptr);
    create(slot);
  }

  // It ends, or cannot be read.
  void end(ModelPod& one, std::size_t arg) {
    kube::Pod pod = one.pod;
    pod.node = "a";
    pod.meta.annotations["hami.io/vgpu-devices-allocated"] = "garbage";
    if (arg % 3 == 1 && !isCores(one)) {
      check(!parts_.updates.setPod(pod).has_value());
      check(parts_.state.nodes.isClosed("a"));
      return;
    }
    pod.meta.annotations.clear();
    pod.phase = kube::PodPhase::kSucceeded;
    check(parts_.updates.setPod(pod).has_value());
    one.nomination.reset();
    one.plugin = false;
    release(one, false);
  }

  // Where another pod of the same request is.
  void nominate(ModelPod& one, std::size_t arg) {
    const auto same = [&](const ModelPod& other) {
      return isPlaced(other.state) && &other != &one &&
             other.pod.containers[0].limits == one.pod.containers[0].limits;
    };
    const auto victim = std::find_if(pods_.begin(), pods_.end(), same);
    if (victim == pods_.end()) return;
    const engine::Placement placement =
        parts_.state.pods.allocationOf(victim->pod.meta.uid)->placement;
    const engine::Instant until{now_ + static_cast<std::int64_t>(arg) * 100 + 1};
    const Result<void> result = parts_.reservations.nominate(one.pod, placement, until);
    const bool good = one.state == PodState::kPending || one.state == PodState::kNominated;
    check(good || !result);
    if (!result) return;
    if (one.state == PodState::kNominated) one.answered = false;
    one.nomination = ModelNomination{victim->node, until.ms};
    become(one, PodState::kNominated, victim->node);
  }

  void denominate(ModelPod& one) {
    parts_.reservations.denominate(one.pod.meta.uid);
    one.nomination.reset();
    if (one.state == PodState::kNominated) release(one, false);
  }

  void unreserve(ModelPod& one) {
    parts_.reservations.unreserve(one.pod.meta.uid);
    if (one.state == PodState::kReserved) release(one, true);
  }

  void expire(std::int64_t ms) {
    now_ += ms;
    parts_.reservations.expire({now_});
    for (ModelPod& one : pods_) {
      const bool reserved = one.state == PodState::kReserved && one.expires <= now_;
      const bool nominated = one.nomination && one.nomination->until <= now_;
      const bool ends = reserved || (nominated && one.state == PodState::kNominated);
      if (nominated) one.nomination.reset();
      if (ends) become(one, PodState::kPending, "");
      if (ends) restore(one);
    }
  }

  void removeNode(std::size_t at) {
    const std::string& node = kNodes[at % kNodes.size()];
    parts_.updates.removeNode("another", node);
    parts_.updates.removeNode(node, node);
    nodes_.erase(node);
    for (ModelPod& one : pods_) {
      if (one.node != node || !known(one.state)) continue;
      const bool stays = holdsCores(one.state) && !one.plugin;
      become(one, stays ? onUnknownNode(one.state) : PodState::kPending, stays ? node : "");
    }
  }

  void setNode(std::size_t at) {
    const std::string& node = kNodes[at % kNodes.size()];
    check(parts_.updates.setNode(nodeNamed(node, ++versions_)).has_value());
    nodes_.insert(node);
    for (ModelPod& one : pods_) {
      if (one.node == node && !known(one.state)) one.state = onKnownNode(one.state);
      if (one.plugin && node == "plugin") countForPlugin(one);
    }
  }

  // Admits a resize of a bound pod, or ends the one in progress.
  void resize(ModelPod& one, std::size_t arg) {
    if (one.state != PodState::kBound || one.node == "cores" || !one.said) return;
    kube::Pod& said = *one.said;
    const vendors::Kind& kind = *changeableKind(allVendors());
    if (const auto pending = pendingChange(said)) {
      const kube::ResizeResult done{arg % 2 == 0, arg % 2 == 0 ? "" : "NoRoom", ""};
      for (const auto& [key, value] : settledBy(*pending, done, kind, said.meta.annotations))
        said.meta.annotations[key] = value;
      return report(one);
    }
    kube::ResizeRequest change;
    change.id = std::to_string(++versions_);
    change.container = "c0";
    change.mebibytes = 10'000 * (1 + arg);
    kube::Pod then = said;
    then.meta.annotations[kube::kChangeKey] = kube::encode(change);
    const Result<std::string> assignment = assignmentWith(then, change, kind);
    if (!assignment) return;
    kube::ResizeState state;
    state.id = change.id;
    state.token = "t";
    state.change = change;
    state.assignment = *assignment;
    state.since = 1;
    then.meta.annotations[kube::kChangeStateKey] = kube::encode(state);
    if (parts_.updates.admitChange(then)) said = then;
  }

  std::string entryFault() const {
    const CacheState& state = parts_.state;
    std::size_t placed = 0;
    for (const auto& [uid, entry] : state.pods.all()) {
      const engine::Allocation* held = state.engine.find(engine::RequestId(uid));
      placed += isPlaced(entry.state) ? 1 : 0;
      if (isPlaced(entry.state) != (held != nullptr)) return uid + ": the engine disagrees";
      if (isOnUnknownNode(entry.state) != (entry.unknown != nullptr)) return uid + ": unknown";
      if (entry.state == PodState::kPending) continue;
      if (isPlaced(entry.state) != (state.nodes.find(entry.node) != nullptr))
        return uid + ": node " + entry.node;
      const std::vector<engine::Allocation> there = state.pods.heldOn(entry.node);
      const auto indexed = std::count_if(there.begin(), there.end(),
                                         [&](const auto& one) { return one.id.text == uid; });
      if (indexed != 1) return uid + ": is not in the index of its node once";
      if (held == nullptr) continue;
      const bool ends = entry.state == PodState::kNominated || entry.state == PodState::kReserved;
      if (ends != held->expires.has_value()) return uid + ": expiry";
      if (entry.state == PodState::kNominated && *held != entry.nomination->held)
        return uid + ": another nomination";
    }
    return placed == state.engine.allocations().size() ? "" : "an allocation without an entry";
  }

  std::string deviceFault() const {
    std::map<std::string, std::uint64_t> held;
    for (const auto& [uid, entry] : parts_.state.pods.all()) {
      if (!isPlaced(entry.state)) continue;
      for (const engine::Charge& one : parts_.state.pods.allocationOf(uid)->placement.charges)
        held[entry.node + '/' + one.uuid.text] += one.memory.count;
    }
    for (const std::string& node : nodes_) {
      const auto devices = parts_.state.engine.used(engine::NodeName(node));
      if (!devices) return "node " + node + " is not in the engine";
      for (const engine::DeviceUsed& one : *devices)
        if (one.memory.count != held[node + '/' + one.uuid.text])
          return "device " + one.uuid.text + " has " + std::to_string(one.memory.count);
    }
    return {};
  }

  std::string quotaFault() const {
    std::uint64_t sum = 0;
    for (const ModelPod& one : pods_) {
      const PodEntry* entry = parts_.state.pods.find(one.pod.meta.uid);
      if (entry == nullptr || !isCharged(entry->state)) continue;
      if (one.pod.meta.namespace_name != kQuotaNamespace) continue;
      if (entry->node == "cores") continue;
      const engine::Allocation& held = entry->unknown != nullptr
                                           ? entry->unknown->held
                                           : *parts_.state.pods.allocationOf(one.pod.meta.uid);
      for (const engine::Charge& charge : held.placement.charges) sum += charge.memory.count;
    }
    const auto used = static_cast<std::uint64_t>(parts_.state.quotas.uses().at(0).used);
    if (used == sum >> 20) return {};
    return "the quota counts " + std::to_string(used) + ", entries hold " +
           std::to_string(sum >> 20);
  }

  // Each core is of one pod.
  std::string coreFault() const {
    std::set<std::string> cores;
    for (const ModelPod& one : pods_) {
      if (one.node != "cores" || !holdsCores(one.state)) continue;
      const std::string& core = one.said->meta.annotations.at("AWS_NEURON_IDS");
      if (!cores.insert(core).second) return "core " + core + " is given twice";
    }
    return {};
  }

  CacheParts parts_{allVendors(), {}};
  std::array<ModelPod, kPods> pods_;
  std::set<std::string> nodes_;  // those that the cache has
  std::set<PodState> seen_;
  std::string fault_;  // the first check that failed
  std::int64_t now_ = 0;
  std::size_t created_ = 0, versions_ = 0;
};

}  // namespace divvy::scheduler
