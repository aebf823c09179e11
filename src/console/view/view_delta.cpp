#include "view/view_delta.h"

#include <utility>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

struct Delta {
  bj::array put;
  bj::array drop;
  bool empty() const { return put.empty() && drop.empty(); }
};

Delta deltaOf(const Rows& before, const Rows& after) {
  Delta delta;
  for (const auto& [id, row] : after) {
    const auto old = before.find(id);
    if (old == before.end() || old->second != row) delta.put.push_back(row);
  }
  for (const auto& [id, row] : before) {
    if (!after.contains(id)) delta.drop.push_back(bj::value(id));
  }
  return delta;
}

}  // namespace

ViewChanges changesBetween(const ConsoleView& before, const ConsoleView& after) {
  ViewChanges changes;
  changes.from = before.number;
  const auto send = [&](std::string_view topic, Delta delta) {
    if (delta.empty()) return;
    std::string data = jsonText(bj::object{{"topic", topic},
                                           {"data_time_ms", after.data_ms},
                                           {"put", std::move(delta.put)},
                                           {"drop", std::move(delta.drop)}});
    if (data.size() > kMaxDelta)
      changes.list.push_back({topic, true, jsonText(bj::object{{"topic", topic}})});
    else
      changes.list.push_back({topic, false, std::move(data)});
  };
  if (before.overview != after.overview || before.data_ms != after.data_ms)
    send("overview", {bj::array{after.overview}, {}});
  send("nodes", deltaOf(before.nodes, after.nodes));
  send("devices", deltaOf(before.devices, after.devices));
  send("shares", deltaOf(before.shares, after.shares));
  send("waiting", deltaOf(before.waiting, after.waiting));
  send("events", deltaOf(before.events, after.events));
  send("workloads", deltaOf(before.workloads, after.workloads));
  send("queues", deltaOf(before.queues, after.queues));
  send("pools", deltaOf(before.pools, after.pools));
  send("teams", deltaOf(before.teams, after.teams));
  send("models", deltaOf(before.models, after.models));
  return changes;
}

}  // namespace divvy::console
