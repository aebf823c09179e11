#include "snapshot/recorder.h"

#include <algorithm>
#include <utility>

#include "writer.h"

namespace divvy::snapshot {
namespace {

template <typename List, typename Same>
void eraseWhere(List& list, Same same) {
  list.erase(std::remove_if(list.begin(), list.end(), same), list.end());
}

void put(std::vector<engine::Node>& nodes, const engine::Node& node) {
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [&](const engine::Node& one) { return one.name == node.name; });
  if (at == nodes.end()) {
    nodes.push_back(node);
  } else {
    *at = node;
  }
}

}  // namespace

void Recorder::note(engine::Instant at, const std::vector<engine::Node>& nodes,
                    const std::vector<engine::Allocation>& allocations) {
  std::map<engine::NodeName, std::string> now;
  for (const engine::Node& node : nodes) {
    std::string text = boost::json::serialize(Writer::objectOf(node));
    const auto known = nodes_.find(node.name);
    if (began_ && (known == nodes_.end() || known->second != text)) enter(at, NodeUpdated{node});
    now.emplace(node.name, std::move(text));
  }
  std::map<engine::RequestId, engine::Allocation> held;
  for (const engine::Allocation& one : allocations) {
    const auto known = allocations_.find(one.id);
    if (began_ && (known == allocations_.end() || known->second != one))
      enter(at, AllocationUpdated{one});
    held.emplace(one.id, one);
  }
  if (began_) {
    for (const auto& [id, one] : allocations_)
      if (!held.contains(id)) enter(at, AllocationReleased{id});
    for (const auto& [name, text] : nodes_)
      if (!now.contains(name)) enter(at, NodeRemoved{name});
  } else {
    history_.nodes = nodes;
    history_.allocations = allocations;
    began_ = true;
  }
  nodes_ = std::move(now);
  allocations_ = std::move(held);
  trim();
}

void Recorder::recordRequest(engine::Instant at, RequestEvent asked) {
  enter(at, std::move(asked));
  ++asks_;
  trim();
}

// Clocks may be set back; what comes later never is before.
void Recorder::enter(engine::Instant at, decltype(HistoryEntry::what) what) {
  if (!history_.entries.empty()) at = std::max(at, history_.entries.back().at);
  history_.entries.push_back({at, std::move(what)});
}

// Until the first entry is an ask that is kept: what comes before it is what it begins with.
void Recorder::trim() {
  std::vector<HistoryEntry>& entries = history_.entries;
  std::size_t gone = 0;
  while (gone < entries.size()) {
    const bool asked = std::holds_alternative<RequestEvent>(entries[gone].what);
    if (asked && asks_ <= most_asks_ && entries.size() - gone <= kMaxEntries) break;
    begin(entries[gone++]);
  }
  entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(gone));
}

void Recorder::begin(const HistoryEntry& entry) {
  std::vector<engine::Allocation>& held = history_.allocations;
  const auto drop = [&](const engine::RequestId& id) {
    eraseWhere(held, [&](const engine::Allocation& one) { return one.id == id; });
  };
  if (std::holds_alternative<RequestEvent>(entry.what)) {
    ++history_.dropped;
    --asks_;
  } else if (const auto* is = std::get_if<NodeUpdated>(&entry.what)) {
    put(history_.nodes, is->node);
  } else if (const auto* released = std::get_if<AllocationReleased>(&entry.what)) {
    drop(released->id);
  } else if (const auto* holds = std::get_if<AllocationUpdated>(&entry.what)) {
    drop(holds->allocation.id);
    held.push_back(holds->allocation);
  } else if (const auto* gone = std::get_if<NodeRemoved>(&entry.what)) {
    eraseWhere(history_.nodes, [&](const engine::Node& one) { return one.name == gone->node; });
    eraseWhere(held,
               [&](const engine::Allocation& one) { return one.placement.node == gone->node; });
  }
}

}  // namespace divvy::snapshot
