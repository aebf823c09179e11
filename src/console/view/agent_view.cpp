#include "view/agent_view.h"

#include <algorithm>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

std::string idOf(const Row& row) {
  return std::string(row.at("id").get_string());
}

void put(Rows& rows, Row row) {
  std::string id = idOf(row);
  rows.insert_or_assign(std::move(id), std::move(row));
}

}  // namespace

Row SourceState::row() const {
  return Row{{"node", node},
             {"state", !reached          ? "never-reached"
                       : failure.empty() ? "ok"
                                         : "unreachable"},
             {"since_ms", since_ms},
             {"message", failure}};
}

void ViewBuilder::take(const NodeReading& reading, std::int64_t now_ms) {
  const auto [at, is_new] = known_.try_emplace(reading.node);
  Known& known = at->second;
  known.source.node = reading.node;
  const bool changed = is_new || known.source.failure.empty() != reading.failure.empty();
  if (changed) known.source.since_ms = now_ms;
  known.source.failure = reading.failure;
  if (!reading.snapshot) return;
  known.source.reached = true;
  known.snapshot = *reading.snapshot;
  data_ms_ = now_ms;
  for (const agent::EventView& event : reading.events)
    events_.push_back(eventRow(known.snapshot, event));
  while (events_.size() > kMaxEvents) events_.pop_front();
}

void ViewBuilder::addRows(const agent::Snapshot& node, Lists& lists) const {
  put(lists.nodes, nodeRow(node));
  for (const agent::DeviceView& device : node.devices) put(lists.devices, deviceRow(node, device));
  for (const agent::TenantView& tenant : node.tenants)
    put(lists.shares, shareRow(node, tenant, why_slow_(tenant, node)));
  unsigned position = 0;
  for (const agent::QueuedView& queued : node.queue)
    put(lists.waiting, waitingRow(node, queued, ++position));
}

ConsoleView ViewBuilder::build(const std::vector<NodeReading>& readings, std::int64_t now_ms,
                               const ConsoleView* before) {
  for (const NodeReading& reading : readings) take(reading, now_ms);
  std::erase_if(known_, [&](const auto& entry) {
    return std::none_of(readings.begin(), readings.end(),
                        [&](const NodeReading& reading) { return reading.node == entry.first; });
  });
  ConsoleView view;
  view.data_ms = data_ms_;
  Lists lists;
  std::vector<const agent::Snapshot*> nodes;
  for (const auto& [name, known] : known_) {
    view.sources.push_back(known.source);
    if (!known.source.reached) continue;
    addRows(known.snapshot, lists);
    nodes.push_back(&known.snapshot);
  }
  for (const Row& event : events_) put(lists.events, event);
  const EarlierViews earlier{before, nullptr};
  putRows(std::move(lists.nodes), &ConsoleView::nodes, earlier, view);
  putRows(std::move(lists.devices), &ConsoleView::devices, earlier, view);
  putRows(std::move(lists.shares), &ConsoleView::shares, earlier, view);
  putRows(std::move(lists.waiting), &ConsoleView::waiting, earlier, view);
  putRows(std::move(lists.events), &ConsoleView::events, earlier, view);
  putOverview(overviewRow(nodes, view), earlier, view);
  return view;
}

}  // namespace divvy::console
