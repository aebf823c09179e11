#include "scheduler/cache_queries.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "cache/cache_parts.h"
#include "codec/pod_request.h"
#include "codec/vendor_plugin.h"
#include "kube/device_list.h"
#include "kube/renamed_annotation.h"

namespace divvy::scheduler {
namespace {

// Numbers of the devices by their agent; in their order if it does not number them.
std::vector<std::size_t> indexesOf(const CachedNode& node) {
  std::vector<std::size_t> indexes;
  std::set<std::size_t> different;
  for (const engine::Device& device : node.node.devices) {
    const auto known = node.devices.find(device.uuid.text);
    indexes.push_back(known == node.devices.end() ? indexes.size() : known->second.index);
    different.insert(indexes.back());
  }
  if (different.size() != indexes.size()) std::iota(indexes.begin(), indexes.end(), 0);
  return indexes;
}

}  // namespace

std::vector<std::string> NodeQueries::names() const {
  std::vector<std::string> names;
  names.reserve(state_.nodes.all().size());
  for (const auto& [name, node] : state_.nodes.all()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const engine::Node* NodeQueries::nodeNamed(const std::string& name) const {
  const CachedNode* known = state_.nodes.find(name);
  return known == nullptr ? nullptr : &known->node;
}

std::string NodeQueries::faultOf(const std::string& node) const {
  if (const std::string* fault = state_.nodes.faultOf(node)) return *fault;
  return state_.nodes.find(node) == nullptr ? kNothingRegistered : "";
}

std::vector<std::string> NodeQueries::unreadOf(const std::string& node) const {
  const CachedNode* known = state_.nodes.find(node);
  return known == nullptr ? std::vector<std::string>() : known->unread;
}

const NodeInventory* NodeQueries::inventoryOf(const std::string& node) const {
  const CachedNode* known = state_.nodes.find(node);
  return known == nullptr || state_.nodes.faultOf(node) != nullptr ? nullptr : &known->inventory;
}

std::vector<DeviceUsage> NodeQueries::devicesOf(const std::string& node) const {
  std::vector<DeviceUsage> all;
  const CachedNode* known = state_.nodes.find(node);
  const Result<std::vector<engine::DeviceUsed>> used = state_.engine.used(engine::NodeName(node));
  if (known == nullptr || !used) return all;
  const std::vector<engine::Device>& devices = known->node.devices;
  const std::vector<std::size_t> indexes = indexesOf(*known);
  for (std::size_t i = 0; i < devices.size() && i < used->size(); ++i) {
    const engine::Device& device = devices[i];
    const engine::DeviceUsed& taken = (*used)[i];
    const bool healthy = device.health == engine::Health::kHealthy;
    all.push_back({node, device.uuid.text, device.model.text, device.kind.text, taken.pool.text,
                   indexes[i], healthy, device.memory, device.compute, device.slots, taken.memory,
                   taken.compute, taken.tenants, device.cordoned || known->node.cordoned,
                   device.mode == engine::Mode::kWhole});
  }
  return all;
}

std::optional<NodeSnapshot> NodeQueries::snapshotOf(const std::string& node) const {
  const CachedNode* known = state_.nodes.find(node);
  if (known == nullptr || state_.nodes.faultOf(node) != nullptr) return std::nullopt;
  return NodeSnapshot{known->node, known->said.allocatable, state_.pods.heldOn(node)};
}

kube::Quantities NodeQueries::allocatable(const std::string& node) const {
  const CachedNode* known = state_.nodes.find(node);
  return known == nullptr ? kube::Quantities() : known->said.allocatable;
}

std::vector<ModelUsage> NodeQueries::capacity() const {
  return state_.nodes.capacity();
}

const std::vector<engine::Pool>& NodeQueries::pools() const {
  return state_.engine.pools();
}

bool NodeQueries::excludesItself(const std::string& model) const {
  if (model == kVendorPlugin || isNotServedBy(model)) return true;
  for (const vendors::Kind* kind : state_.catalog.kinds())
    if (std::find(kind->count.alone.begin(), kind->count.alone.end(), model) !=
        kind->count.alone.end())
      return true;
  return false;
}

std::size_t NodeQueries::closedNodes() const {
  return state_.nodes.closedCount();
}

std::size_t NodeQueries::surplusNodes() const {
  const NodeTable::Nodes& all = state_.nodes.all();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
    return !one.second.inventory.surplus.empty();
  }));
}

Result<std::optional<engine::Request>> PodQueries::readRequest(const kube::Pod& pod) const {
  return requestOf(pod, parts_.state.catalog, parts_.state.config.devices);
}

Result<std::optional<engine::Request>> PodQueries::requestFor(const kube::Pod& pod) const {
  Result<std::optional<engine::Request>> request = readRequest(pod);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  return request;
}

Result<std::vector<unsigned>> PodQueries::scores(const kube::Pod& pod,
                                                 std::span<const std::string_view> nodes) const {
  return parts_.filter.scores(pod, nodes);
}

Result<FilterResult> PodQueries::simulateFit(const kube::Pod& pod,
                                             std::span<const kube::Node> nodes) const {
  return parts_.what_if.simulateFit(pod, nodes);
}

std::optional<std::string> PodQueries::nodeOf(const std::string& uid) const {
  const PodEntry* entry = parts_.state.pods.find(uid);
  if (entry == nullptr || !isPlaced(entry->state) || entry->state == PodState::kNominated)
    return std::nullopt;
  return entry->node;
}

std::vector<ModelUsage> PodQueries::useOf(const std::string& uid) const {
  const engine::Allocation* held = parts_.state.pods.allocationOf(uid);
  return held == nullptr ? std::vector<ModelUsage>() : parts_.state.nodes.usageOf(held->placement);
}

std::vector<AllocatedShare> PodQueries::shares() const {
  std::vector<AllocatedShare> all;
  for (const auto& [uid, entry] : parts_.state.pods.all()) {
    if (!entry.details.pod || !isPlaced(entry.state)) continue;
    const auto& [namespace_name, name] = *entry.details.pod;
    const engine::Placement& placement = parts_.state.pods.allocationOf(uid)->placement;
    for (std::size_t at = 0; at < placement.containers.size(); ++at) {
      for (const engine::Share& share : placement.containers[at])
        all.push_back({namespace_name, name, placement.node.text, share.uuid.text, at, share.memory,
                       share.compute});
    }
  }
  return all;
}

std::string PodQueries::withdrawnFrom(const std::string& uid) const {
  const engine::Allocation* held = parts_.state.pods.allocationOf(uid);
  if (held == nullptr) return {};
  const CachedNode* node = parts_.state.nodes.find(held->placement.node.text);
  if (node == nullptr) return {};
  const std::string* said = kube::findRenamed(node->said.meta.annotations, kube::kFullDevicesKey);
  if (said == nullptr) return {};
  const std::set<std::string> full = kube::decodeDevices(*said);
  for (const auto& container : held->placement.containers)
    for (const engine::Share& share : container)
      if (full.contains(share.uuid.text)) return share.uuid.text;
  return {};
}

bool PodQueries::countedForPlugin(const std::string& uid) const {
  return parts_.state.plugin_pods.find(uid) != nullptr && isPlaced(parts_.state.pods.stateOf(uid));
}

std::optional<std::string> PodQueries::neverWithinQuota(const kube::Pod& pod) const {
  const CacheState& state = parts_.state;
  if (!state.quotas.limits(pod.meta.namespace_name)) return std::nullopt;
  return state.quotas.never(pod.meta.namespace_name, leastAsked(pod, state.catalog));
}

std::vector<QuotaUsage> PodQueries::quotas() const {
  return parts_.state.quotas.uses();
}

bool PodQueries::mayRequeue(engine::Instant now) const {
  return parts_.state.unschedulable.mayRequeue(now);
}

std::size_t PodQueries::waiting() const {
  return parts_.state.unschedulable.size();
}

std::vector<UnschedulablePod> PodQueries::refused() const {
  return parts_.state.unschedulable.all();
}

const engine::Request* PodQueries::unschedulableRequest(const std::string& uid) const {
  return parts_.state.unschedulable.unschedulableRequest(uid);
}

const engine::Config& PodQueries::config() const {
  return parts_.state.config;
}

const engine::Engine& PodQueries::engine() const {
  return parts_.state.engine;
}

}  // namespace divvy::scheduler
