#include "viewers/viewer_filter.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <boost/json.hpp>

#include "rows/cluster_rows.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

// Messages of the API server name objects.
std::vector<ClusterCollection> visibleCollections(const ClusterReading& reading) {
  std::vector<ClusterCollection> visible;
  for (const ClusterCollection& one : reading.collections) {
    ClusterCollection& added = visible.emplace_back();
    added.name = one.name;
    added.reached = one.reached;
    if (!one.failure.empty()) added.failure = "the console cannot read it now";
  }
  return visible;
}

// Reasons of queues name gangs, parent queues and nodes.
constexpr const char* kHiddenReason = "its queue states a reason that your rights do not show";

// As the scheduler decides which namespaces may use a queue.
bool admits(const kube::Queue& queue, const NamespaceScope& pods) {
  return queue.namespaces.empty() ||
         std::any_of(queue.namespaces.begin(), queue.namespaces.end(),
                     [&](const std::string& one) { return pods.contains(one); });
}

kube::Queue withoutOthers(const kube::Queue& queue, const NamespaceScope& pods) {
  kube::Queue visible = queue;
  std::erase_if(visible.namespaces, [&](const std::string& one) { return !pods.contains(one); });
  for (kube::QueueWaiting& one : visible.status.waiting) {
    if (!pods.contains(namespaceIn(one.example))) one.example.clear();
    one.reason = kHiddenReason;
  }
  // It may name other queues and their namespaces.
  if (!visible.status.fault.empty()) visible.status.fault = "the queue is not in force";
  visible.parent.clear();
  return visible;
}

std::vector<kube::Queue> visibleQueues(const ClusterReading& reading, const ViewerScope& scope,
                                       const std::vector<ClusterPodView>& pods) {
  if (scope.queues) return reading.queues;
  std::set<std::string> named;
  for (const ClusterPodView& pod : pods) named.insert(pod.queue);
  std::vector<kube::Queue> visible;
  for (const kube::Queue& queue : reading.queues)
    if (named.contains(queue.meta.name) && admits(queue, scope.pods))
      visible.push_back(withoutOthers(queue, scope.pods));
  return visible;
}

// A pool's devices are labelled nodes; its namespaces are not in them.
std::vector<ClusterPool> visiblePools(const ClusterReading& reading, const ViewerScope& scope,
                                      const std::vector<scheduler::DeviceUsage>& devices) {
  std::set<std::string> named;
  for (const scheduler::DeviceUsage& device : devices) named.insert(device.pool);
  std::vector<ClusterPool> visible;
  for (const ClusterPool& pool : reading.pools) {
    if (!named.contains(pool.name)) continue;
    visible.push_back(pool);
    // An empty list would mean all namespaces.
    if (!scope.pods.all && !pool.namespaces.empty()) {
      std::vector<std::string>& names = visible.back().namespaces;
      std::erase_if(names, [&](const std::string& one) { return !scope.pods.contains(one); });
      if (names.empty()) visible.pop_back();
    }
  }
  return visible;
}

// What agents report about a share or a device may name pods of other namespaces.
void hideOthers(const NamespaceScope& pods, ClusterReading& visible) {
  for (auto& [key, use] : visible.share_use)
    if (use.slow) use.slow = use.slow_unnamed;
  for (auto& [id, use] : visible.device_use)
    if (!use.turn.empty() && !pods.contains(namespaceIn(use.turn))) use.turn.clear();
}

}  // namespace

std::string namespaceIn(std::string_view id) {
  return std::string(id.substr(0, id.find('/')));
}

void numberWaiting(ClusterReading& reading) {
  std::vector<ClusterPodView*> waiting;
  for (ClusterPodView& pod : reading.pods)
    if (pod.state == ClusterPodState::kWaiting) waiting.push_back(&pod);
  const auto key = [](const ClusterPodView& pod) {
    return std::tuple(-pod.priority, pod.created_ms, podId(pod));
  };
  std::sort(waiting.begin(), waiting.end(),
            [&](const auto* one, const auto* two) { return key(*one) < key(*two); });
  std::map<std::string, unsigned> positions;
  for (ClusterPodView* pod : waiting) pod->position = ++positions[pod->queue];
}

ClusterReading visiblePart(const ReadingIndex& index, const ViewerScope& scope) {
  const ClusterReading& reading = index.reading();
  if (scope.everything()) return reading;
  ClusterReading visible;
  visible.collections = visibleCollections(reading);
  visible.pods = index.pods(scope.pods);
  visible.shares = index.shares(scope.pods);
  visible.events = index.events(scope.events);
  visible.share_use = index.shareUse(scope.pods);
  for (ClusterPodView& pod : visible.pods)
    if (pod.reason_of_queue && !scope.queues) pod.reason = kHiddenReason;
  if (scope.nodes) {
    visible.devices = reading.devices;
    visible.device_use = reading.device_use;
    visible.nodes = reading.nodes;
    visible.agents = reading.agents;
    visible.agents.failure.clear();
  } else {
    visible.devices = index.devicesOf(visible.shares);
    for (const scheduler::DeviceUsage& device : visible.devices) {
      const auto use = reading.device_use.find(deviceId(device));
      if (use != reading.device_use.end()) visible.device_use.insert(*use);
    }
  }
  visible.agents.unasked = reading.agents.unasked;
  if (!scope.pods.all) hideOthers(scope.pods, visible);
  visible.queues = visibleQueues(reading, scope, visible.pods);
  visible.pools = visiblePools(reading, scope, visible.devices);
  return visible;
}

bj::object visibleExplanation(bj::object explanation, const ViewerScope& scope) {
  if (!scope.queues && explanation.contains("gated")) explanation["gated"] = kHiddenReason;
  if (scope.nodes && scope.pods.all) return explanation;
  const bj::value* bound = explanation.if_contains("bound");
  if (bound == nullptr || !bound->is_bool() || !bound->get_bool()) {
    explanation.erase("node");
    explanation.erase("devices");
  }
  explanation.erase("nodes");
  explanation.erase("would_fit_without");
  if (bj::value* fixes = explanation.if_contains("fixes"); fixes != nullptr && fixes->is_array())
    for (bj::value& fix : fixes->get_array())
      if (fix.is_object()) fix.get_object().erase("node");
  explanation["limited"] = true;
  return explanation;
}

std::vector<std::string> namespacesOf(const ClusterReading& reading) {
  std::set<std::string> names;
  for (const ClusterPodView& pod : reading.pods) names.insert(pod.namespace_name);
  for (const ClusterEvent& event : reading.events) names.insert(event.namespace_name);
  return {names.begin(), names.end()};
}

std::vector<std::string> namespacesToReview(const std::vector<std::string>& known,
                                            const ViewerScope& before,
                                            const std::set<std::string>& refused,
                                            std::uint64_t review) {
  constexpr std::uint64_t rounds = 20;
  // A namespace stays allowed while it is empty, so that its next pod is shown at once.
  std::set<std::string> asked = before.pods.names;
  asked.insert(before.events.names.begin(), before.events.names.end());
  for (const std::string& name : known)
    if (!refused.contains(name)) asked.insert(name);
  std::uint64_t number = review;
  for (const std::string& name : refused)
    if (number++ % rounds == 0) asked.insert(name);
  return {asked.begin(), asked.end()};
}

}  // namespace divvy::console
