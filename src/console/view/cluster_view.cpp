#include "view/cluster_view.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "rows/cluster_rows.h"
#include "rows/group_rows.h"

namespace divvy::console {
namespace {

// The shares of a reading, by what they have in common. All pointers are into the reading.
class ShareIndex {
 public:
  explicit ShareIndex(const ClusterReading& reading) : use_(reading.share_use) {
    for (const scheduler::DeviceUsage& device : reading.devices)
      devices_[deviceId(device)] = &device;
    for (const ClusterPodView& pod : reading.pods) pods_[podId(pod)] = &pod;
    std::map<std::string, std::size_t> places;
    for (const scheduler::AllocatedShare& share : reading.shares) add(share, places);
    for (const ContainerShare& share : shares_) {
      for (const ContainerShare::Part& part : share.parts) {
        std::vector<const ContainerShare*>& on = by_device_[part.device];
        if (on.empty() || on.back() != &share) on.push_back(&share);
      }
      by_node_[share.pod->node] += 1;
    }
  }

  const std::vector<ContainerShare>& all() const { return shares_; }
  std::vector<const ContainerShare*> on(const scheduler::DeviceUsage& device) const {
    const auto found = by_device_.find(&device);
    return found == by_device_.end() ? std::vector<const ContainerShare*>() : found->second;
  }
  std::size_t onNode(const std::string& node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? 0 : found->second;
  }

 private:
  void add(const scheduler::AllocatedShare& share, std::map<std::string, std::size_t>& places) {
    const auto pod = pods_.find(share.namespace_name + '/' + share.pod);
    if (pod == pods_.end()) return;
    const auto device = devices_.find(share.node + '/' + share.uuid);
    const scheduler::DeviceUsage* on = device == devices_.end() ? nullptr : device->second;
    const bool any = on != nullptr && on->by_plugin;
    const std::vector<std::string>& names = pod->second->containers;
    const bool named = !any && share.container < names.size();
    const std::string container = any     ? "*"
                                  : named ? names[share.container]
                                          : "#" + std::to_string(share.container);
    const std::string id = pod->first + '/' + container;
    const auto [place, fresh] = places.try_emplace(id, shares_.size());
    if (fresh) {
      const std::vector<std::string>& images = pod->second->images;
      const std::string image =
          named && share.container < images.size() ? images[share.container] : std::string();
      shares_.push_back(
          {id, container, image, pod->second, useOf(*pod->second, container, ""), {}});
    }
    shares_[place->second].parts.push_back(
        {&share, on, useOf(*pod->second, container, share.uuid)});
  }

  const ShareUse* useOf(const ClusterPodView& pod, const std::string& container,
                        const std::string& device) const {
    const auto found = use_.find({pod.namespace_name, pod.name, container, device});
    return found == use_.end() ? nullptr : &found->second;
  }

  const std::map<ShareUseKey, ShareUse>& use_;
  std::map<std::string, const scheduler::DeviceUsage*> devices_;
  std::map<std::string, const ClusterPodView*> pods_;
  std::vector<ContainerShare> shares_;
  std::map<const scheduler::DeviceUsage*, std::vector<const ContainerShare*>> by_device_;
  std::map<std::string, std::size_t> by_node_;
};

void put(Rows& rows, Row row) {
  std::string id(row.at("id").get_string());
  rows.insert_or_assign(std::move(id), std::move(row));
}

void addWaiting(const ClusterReading& reading, Rows& rows) {
  for (const ClusterPodView& pod : reading.pods)
    if (pod.state == ClusterPodState::kWaiting) put(rows, clusterWaitingRow(pod));
}

const DeviceUse* useOf(const ClusterReading& reading, const scheduler::DeviceUsage& device) {
  const auto found = reading.device_use.find(deviceId(device));
  return found == reading.device_use.end() ? nullptr : &found->second;
}

// None: of one of the devices it is not known.
std::optional<std::uint64_t> usedOn(const ClusterReading& reading,
                                    const std::vector<const scheduler::DeviceUsage*>& devices) {
  std::uint64_t sum = 0;
  for (const scheduler::DeviceUsage* device : devices) {
    const DeviceUse* use = useOf(reading, *device);
    if (use == nullptr || !use->memory_used) return std::nullopt;
    sum += *use->memory_used;
  }
  return devices.empty() ? std::nullopt : std::optional(sum);
}

void addNodes(const ClusterReading& reading, const ShareIndex& shares, Rows& rows) {
  std::map<std::string, std::vector<const scheduler::DeviceUsage*>> devices;
  for (const scheduler::DeviceUsage& device : reading.devices)
    devices[device.node].push_back(&device);
  for (const ClusterNode& node : reading.nodes) {
    const std::vector<const scheduler::DeviceUsage*>& own = devices[node.name];
    put(rows, clusterNodeRow(node, own, shares.onNode(node.name), usedOn(reading, own)));
  }
}

}  // namespace

// Agents are one source: a row for each would be the longest part of each answer.
void ClusterViewBuilder::addAgents(const ClusterAgents& agents, std::int64_t now_ms,
                                   ConsoleView& view) {
  if (agents.known == 0) return;
  const auto [at, is_new] = sources_.try_emplace("agents");
  SourceState& source = at->second;
  const std::size_t silent = agents.known - std::min(agents.known, agents.answering);
  const std::string failure =
      silent == 0 ? ""
                  : std::to_string(silent) + " of " + std::to_string(agents.known) +
                        " agents do not answer" +
                        (agents.failure.empty() ? "" : ", such as " + agents.failure);
  if (is_new || source.failure.empty() != failure.empty()) source.since_ms = now_ms;
  source.node = "agents";
  source.reached = source.reached || agents.answering > 0;
  source.failure = failure;
  view.sources.push_back(source);
}

bool ClusterReading::known() const {
  std::size_t reached = 0;
  for (const ClusterCollection& one : collections)
    reached += one.reached && (one.name == "nodes" || one.name == "pods") ? 1 : 0;
  return reached == 2;
}

ConsoleView ClusterViewBuilder::build(const ClusterReading& reading, std::int64_t now_ms) {
  ConsoleView view;
  bool current = reading.known();
  for (const ClusterCollection& one : reading.collections) {
    const auto [at, is_new] = sources_.try_emplace(one.name);
    SourceState& source = at->second;
    if (is_new || source.failure.empty() != one.failure.empty() || source.reached != one.reached)
      source.since_ms = now_ms;
    source.node = one.name;
    source.reached = one.reached;
    source.failure = one.failure;
    current = current && one.failure.empty();
    view.sources.push_back(source);
  }
  addAgents(reading.agents, now_ms, view);
  if (current || (data_ms_ == 0 && reading.known())) data_ms_ = now_ms;
  view.data_ms = data_ms_;
  const ShareIndex shares(reading);
  for (const scheduler::DeviceUsage& device : reading.devices)
    put(view.devices, clusterDeviceRow(device, shares.on(device), useOf(reading, device)));
  for (const ContainerShare& share : shares.all()) put(view.shares, clusterShareRow(share));
  for (const ClusterEvent& event : reading.events) put(view.events, clusterEventRow(event));
  addNodes(reading, shares, view.nodes);
  addWaiting(reading, view.waiting);
  view.workloads = workloadRows(reading, shares.all());
  view.queues = queueRows(reading.queues);
  view.pools = poolRows(reading);
  view.teams = teamRows(reading, shares.all());
  view.models = servedModelRows(shares.all());
  view.overview = clusterOverviewRow(reading, view);
  return view;
}

}  // namespace divvy::console
