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

void put(Rows& rows, Row row) {
  std::string id(row.at("id").get_string());
  rows.insert_or_assign(std::move(id), std::move(row));
}

Rows waitingRows(const ClusterReading& reading) {
  Rows rows;
  for (const ClusterPodView& pod : reading.pods)
    if (pod.state == ClusterPodState::kWaiting) put(rows, clusterWaitingRow(pod));
  return rows;
}

Rows eventRows(const ClusterReading& reading) {
  Rows rows;
  for (const ClusterEvent& event : reading.events) put(rows, clusterEventRow(event));
  return rows;
}

// A row whose origin is the same in the known view is taken from there.
template <typename Object>
const SharedRow* knownRow(const ShareIndex& shares, const Object& object, const std::string& id,
                          SharedRows ConsoleView::*list, const EarlierViews& earlier) {
  if (earlier.known == nullptr || !shares.isSameIn(*earlier.known_origin, object)) return nullptr;
  const SharedRows& rows = earlier.known->*list;
  const auto found = rows.find(id);
  return found == rows.end() ? nullptr : &found->second;
}

SharedRow rowIn(const ConsoleView* view, SharedRows ConsoleView::*list, const std::string& id) {
  if (view == nullptr) return nullptr;
  const auto found = (view->*list).find(id);
  return found == (view->*list).end() ? nullptr : found->second;
}

void putShares(const ShareIndex& shares, const EarlierViews& earlier, ConsoleView& view) {
  constexpr auto list = &ConsoleView::shares;
  for (const ContainerShare& share : shares.all()) {
    const SharedRow* known = knownRow(shares, share, share.id, list, earlier);
    view.shares[share.id] = known != nullptr ? *known
                                             : sharedRow(clusterShareRow(share),
                                                         {rowIn(earlier.before, list, share.id)});
  }
}

void putDevices(const ShareIndex& shares, const EarlierViews& earlier, ConsoleView& view) {
  constexpr auto list = &ConsoleView::devices;
  for (const scheduler::DeviceUsage& device : shares.reading().devices) {
    const std::string id = deviceId(device);
    const SharedRow* known = knownRow(shares, device, id, list, earlier);
    view.devices[id] =
        known != nullptr
            ? *known
            : sharedRow(clusterDeviceRow(device, shares.on(device), shares.useOf(device)),
                        {rowIn(earlier.before, list, id)});
  }
}

// None: of one of the devices it is not known.
std::optional<std::uint64_t> usedOn(const ShareIndex& shares,
                                    const std::vector<const scheduler::DeviceUsage*>& devices) {
  std::uint64_t sum = 0;
  for (const scheduler::DeviceUsage* device : devices) {
    const DeviceUse* use = shares.useOf(*device);
    if (use == nullptr || !use->memory_used) return std::nullopt;
    sum += *use->memory_used;
  }
  return devices.empty() ? std::nullopt : std::optional(sum);
}

Rows nodeRows(const ShareIndex& shares) {
  const ClusterReading& reading = shares.reading();
  Rows rows;
  std::map<std::string, std::vector<const scheduler::DeviceUsage*>> devices;
  for (const scheduler::DeviceUsage& device : reading.devices)
    devices[device.node].push_back(&device);
  for (const ClusterNode& node : reading.nodes) {
    const std::vector<const scheduler::DeviceUsage*>& own = devices[node.name];
    put(rows, clusterNodeRow(node, own, shares.onNode(node.name), usedOn(shares, own)));
  }
  return rows;
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
  return build(ShareIndex(reading), now_ms);
}

ConsoleView ClusterViewBuilder::build(const ShareIndex& shares, std::int64_t now_ms,
                                      const EarlierViews& earlier) {
  const ClusterReading& reading = shares.reading();
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
  putDevices(shares, earlier, view);
  putShares(shares, earlier, view);
  const auto putList = [&](Rows rows, SharedRows ConsoleView::*list) {
    putRows(std::move(rows), list, earlier, view);
  };
  putList(eventRows(reading), &ConsoleView::events);
  putList(nodeRows(shares), &ConsoleView::nodes);
  putList(waitingRows(reading), &ConsoleView::waiting);
  putList(workloadRows(reading, shares.all()), &ConsoleView::workloads);
  putList(queueRows(reading.queues), &ConsoleView::queues);
  putList(poolRows(reading), &ConsoleView::pools);
  putList(teamRows(reading, shares.all()), &ConsoleView::teams);
  putList(servedModelRows(shares.all()), &ConsoleView::models);
  putOverview(clusterOverviewRow(reading, view), earlier, view);
  return view;
}

}  // namespace divvy::console
