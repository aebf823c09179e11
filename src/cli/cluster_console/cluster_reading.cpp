#include "cluster_console/cluster_reading.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "engine/engine.h"
#include "engine/selection.h"
#include "json/path.h"
#include "kube/object.h"
#include "scheduler/explain.h"
#include "scheduler/pod_group.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using console::ClusterPodState;
using console::WaitingKind;

ClusterPodState stateOf(const kube::Pod& pod) {
  if (pod.node.empty()) return ClusterPodState::kWaiting;
  if (pod.meta.deleting) return ClusterPodState::kEnding;
  switch (pod.phase) {
    case kube::PodPhase::kRunning:
      return ClusterPodState::kRunning;
    case kube::PodPhase::kPending:
      return ClusterPodState::kPending;
    default:
      return ClusterPodState::kUnknown;
  }
}

std::string deviceConditionOf(const kube::Pod& pod) {
  for (const kube::PodCondition& condition : pod.conditions)
    if (condition.type == scheduler::kDevicesFit && condition.status == "False")
      return condition.message;
  return "";
}

// The devices that containers request at once, and the memory of the largest share.
void addRequest(const engine::Request& request, console::ClusterPodView* view) {
  unsigned devices = 0;
  std::uint64_t bytes = 0;
  unsigned percent = 0;
  const auto add = [&](const engine::DeviceRequest& ask) {
    devices += ask.count;
    if (const Bytes* memory = std::get_if<Bytes>(&ask.memory)) {
      bytes = std::max(bytes, memory->count);
    } else {
      percent = std::max(percent, std::get<engine::Percent>(ask.memory).value);
    }
  };
  for (const engine::Container& container : request.shape.containers) {
    add(container.devices);
    for (const engine::DeviceRequest& other : container.others) add(other);
  }
  view->devices = devices;
  if (bytes > 0) {
    view->memory = sizeWord(bytes);
  } else if (percent > 0) {
    view->memory = std::to_string(percent) + '%';
  }
}

const engine::Selector& selectorFor(const engine::Shape& shape, const engine::DeviceKind& kind) {
  for (const engine::KindSelector& one : shape.by_kind)
    if (one.kind == kind) return one.selector;
  return shape.selector;
}

bool accepts(const engine::Shape& shape, const engine::DeviceRequest& ask,
             const ClusterFacts::DeviceSize& device) {
  const engine::DeviceKind kind(device.kind);
  if (!ask.kind.empty() && ask.kind != kind) return false;
  const Bytes* memory = std::get_if<Bytes>(&ask.memory);
  if (memory != nullptr && device.memory < memory->count) return false;
  const engine::Selector& selector = selectorFor(shape, kind);
  const engine::ModelName model(device.model);
  return (selector.models.empty() || namesModel(selector.models, selector.match, model)) &&
         !namesModel(selector.not_models, selector.match, model);
}

// Whether a node has as many devices of that kind and model with as much memory, if they were free.
// A part of a device's memory fits any device. Other conditions are not looked at.
bool couldFit(const engine::Request& request, const ClusterFacts::NodeSizes& sizes) {
  const auto some_node_has = [&](const engine::DeviceRequest& ask) {
    if (ask.count == 0 || ask.part) return true;
    return std::any_of(sizes.begin(), sizes.end(), [&](const auto& node) {
      const auto count = std::count_if(node.begin(), node.end(), [&](const auto& device) {
        return accepts(request.shape, ask, device);
      });
      return static_cast<std::uint64_t>(count) >= ask.count;
    });
  };
  return std::all_of(request.shape.containers.begin(), request.shape.containers.end(),
                     [&](const engine::Container& container) {
                       return some_node_has(container.devices) &&
                              std::all_of(container.others.begin(), container.others.end(),
                                          some_node_has);
                     });
}

// A pod that waits is compared with each size once, and nodes of one size are one.
ClusterFacts::NodeSizes sizesOf(const std::vector<scheduler::DeviceUsage>& devices) {
  std::map<std::string, std::vector<ClusterFacts::DeviceSize>> nodes;
  for (const scheduler::DeviceUsage& device : devices)
    nodes[device.node].push_back({device.memory.count, device.kind, device.model});
  ClusterFacts::NodeSizes sizes;
  for (auto& [name, node] : nodes) {
    std::sort(node.begin(), node.end());
    sizes.insert(std::move(node));
  }
  return sizes;
}

}  // namespace

void ClusterFacts::setNode(const json::value& object) {
  Node node;
  const json::value* closed = presentAt(object, {"spec", "unschedulable"});
  node.schedulable = closed == nullptr || !closed->is_bool() || !closed->get_bool();
  for (const json::value& one : listAt(object, {"status", "conditions"})) {
    if (textAt(one, {"type"}) != "Ready") continue;
    node.ready = textAt(one, {"status"}) == "True";
    node.reason = textAt(one, {"message"});
    if (node.reason.empty()) node.reason = textAt(one, {"reason"});
  }
  nodes_[textAt(object, {"metadata", "name"})] = std::move(node);
}

// Labels and port name are those of the chart.
void ClusterFacts::setPod(const json::value& object) {
  const std::string uid = textAt(object, {"metadata", "uid"});
  agents_.erase(uid);
  const bool agent =
      textAt(object, {"metadata", "namespace"}) == agent_namespace_ &&
      textAt(object, {"metadata", "labels", "app.kubernetes.io/name"}) == "divvy" &&
      textAt(object, {"metadata", "labels", "app.kubernetes.io/component"}) == "agent" &&
      textAt(object, {"status", "phase"}) == "Running";
  if (!agent) return;
  for (const json::value& container : listAt(object, {"spec", "containers"})) {
    for (const json::value& port : listAt(container, {"ports"})) {
      const json::value* number = memberAt(port, {"containerPort"});
      if (textAt(port, {"name"}) != "metrics" || number == nullptr || !number->is_int64()) continue;
      agents_[uid] = {agent_namespace_, textAt(object, {"metadata", "name"}),
                      textAt(object, {"spec", "nodeName"}),
                      static_cast<unsigned>(number->get_int64())};
    }
  }
}

std::vector<AgentPod> ClusterFacts::agents() const {
  std::vector<AgentPod> agents;
  for (const auto& [uid, agent] : agents_) agents.push_back(agent);
  return agents;
}

void ClusterFacts::setNamespace(const json::value& object) {
  const Result<kube::Meta> meta = kube::metaOf(object);
  if (!meta) return;
  const auto label = meta->labels.find(team_label_);
  namespaces_[meta->name] = {label == meta->labels.end() ? "" : label->second,
                             scheduler::queueOfNamespace(*meta)};
}

void ClusterFacts::setQueue(const json::value& object) {
  Result<kube::Queue> queue = kube::queueOf(object);
  if (queue) queues_.insert_or_assign(queue->meta.name, std::move(*queue));
}

console::ClusterNode ClusterFacts::nodeOf(const ClusterState& state,
                                          const std::string& name) const {
  using console::ClusterNodeState;
  const std::string fault = state.cache().nodes().faultOf(name);
  if (!fault.empty()) return {name, ClusterNodeState::kUnreadable, fault};
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) return {name, ClusterNodeState::kReady, ""};
  if (!known->second.ready) return {name, ClusterNodeState::kNotReady, known->second.reason};
  if (!known->second.schedulable) return {name, ClusterNodeState::kCordoned, "kubectl cordon"};
  return {name, ClusterNodeState::kReady, ""};
}

// The reason that the queue states for the pod, or for all of its pods.
std::string ClusterFacts::queueReason(const console::ClusterPodView& pod) const {
  const auto queue = queues_.find(pod.queue);
  if (queue == queues_.end()) return "";
  const std::vector<kube::QueueWaiting>& waiting = queue->second.status.waiting;
  const std::string name = pod.namespace_name + '/' + pod.name;
  for (const kube::QueueWaiting& one : waiting)
    if (one.example == name || waiting.size() == 1) return one.reason;
  return "";
}

void ClusterFacts::addWaiting(const ClusterState& state, const ClusterPod& one,
                              const NodeSizes& sizes, console::ClusterPodView* view) const {
  const Result<std::optional<engine::Request>> request = state.cache().pods().requestFor(one.pod);
  if (request && *request) addRequest(**request, view);
  const std::optional<std::string> quota = state.cache().pods().neverWithinQuota(one.pod);
  if (!request || quota) {
    view->waiting = WaitingKind::kNeverFits;
    view->reason = request ? *quota : request.error().message();
    return;
  }
  const auto foreign = std::find_if(one.pod.gates.begin(), one.pod.gates.end(),
                                    [](const auto& gate) { return gate != scheduler::kQueueGate; });
  if (foreign != one.pod.gates.end()) {
    view->waiting = WaitingKind::kHeld;
    view->reason = "held by scheduling gate " + *foreign;
    return;
  }
  if (!one.pod.gates.empty()) {
    view->reason = queueReason(*view);
    view->reason_of_queue = !view->reason.empty();
    const bool quota_named = view->reason.empty() || scheduler::namesQuota(view->reason);
    view->waiting = quota_named ? WaitingKind::kQuota : WaitingKind::kRoom;
    if (view->reason.empty()) view->reason = "its queue has not admitted it";
    return;
  }
  view->reason = deviceConditionOf(one.pod);
  if (request && *request && !couldFit(**request, sizes)) {
    view->waiting = WaitingKind::kNeverFits;
    if (view->reason.empty()) view->reason = "no node has such devices";
    return;
  }
  view->waiting = view->reason.empty() ? WaitingKind::kUnscheduled : WaitingKind::kRoom;
  // The condition does not count quotas; the answer to kube-scheduler does.
  if (scheduler::namesQuota(one.unscheduled)) view->waiting = WaitingKind::kQuota;
  if (view->reason.empty() || view->waiting == WaitingKind::kQuota) view->reason = one.unscheduled;
}

console::ClusterPodView ClusterFacts::podOf(const ClusterState& state, const ClusterPod& one,
                                            const NodeSizes& sizes) const {
  const kube::Pod& pod = one.pod;
  console::ClusterPodView view;
  view.namespace_name = pod.meta.namespace_name;
  view.name = pod.meta.name;
  view.node = pod.node;
  view.owner = one.owner;
  view.served_model = one.served_model;
  view.model_source = one.model_source;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& container : *list) view.containers.push_back(container.name);
  view.images = one.images;
  view.images.resize(view.containers.size());
  view.priority = pod.priority;
  view.created_ms = one.since_ms;
  view.state = stateOf(pod);
  view.queue = scheduler::queueNamedBy(pod);
  const auto space = namespaces_.find(pod.meta.namespace_name);
  if (space != namespaces_.end()) {
    if (view.queue.empty()) view.queue = space->second.queue;
    view.team = space->second.team;
  }
  if (view.team.empty()) view.team = view.queue.empty() ? pod.meta.namespace_name : view.queue;
  if (view.state == ClusterPodState::kWaiting) addWaiting(state, one, sizes, &view);
  return view;
}

console::ClusterReading ClusterFacts::read(const ClusterState& state) const {
  console::ClusterReading reading;
  const scheduler::NodeQueries& nodes = state.cache().nodes();
  for (const std::string& name : nodes.names()) {
    std::vector<scheduler::DeviceUsage> devices = nodes.devicesOf(name);
    if (devices.empty() && nodes.faultOf(name).empty()) continue;
    reading.nodes.push_back(nodeOf(state, name));
    std::move(devices.begin(), devices.end(), std::back_inserter(reading.devices));
  }
  const NodeSizes sizes = sizesOf(reading.devices);
  for (const auto& [uid, one] : state.pods())
    if (!one.pod.ended()) reading.pods.push_back(podOf(state, one, sizes));
  for (scheduler::AllocatedShare& share : state.cache().pods().shares())
    reading.shares.push_back(std::move(share));
  for (const auto& [name, queue] : queues_) reading.queues.push_back(queue);
  for (const engine::Pool& pool : nodes.pools()) {
    console::ClusterPool& added = reading.pools.emplace_back();
    added.name = pool.name.text;
    for (const engine::UserName& user : pool.users) added.namespaces.push_back(user.text);
  }
  return reading;
}

}  // namespace divvy::cli
