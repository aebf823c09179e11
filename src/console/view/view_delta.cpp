#include "view/view_delta.h"

#include <utility>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

// JSON of rows and of identifiers, with commas.
struct Delta {
  std::string put, drop;
  bool empty() const { return put.empty() && drop.empty(); }
  // It will not be sent: the rest of it need not be made.
  bool isTooLarge() const { return put.size() + drop.size() > kMaxDelta; }
};

void add(std::string& list, const std::string& text) {
  if (!list.empty()) list += ',';
  list += text;
}

// Both lists ascend by identifier.
Delta deltaOf(const SharedRows& before, const SharedRows& after) {
  Delta delta;
  auto old = before.begin();
  auto now = after.begin();
  while ((old != before.end() || now != after.end()) && !delta.isTooLarge()) {
    const bool gone = now == after.end() || (old != before.end() && old->first < now->first);
    if (gone) {
      add(delta.drop, jsonText(bj::value(old->first)));
      ++old;
      continue;
    }
    const bool there = old != before.end() && old->first == now->first;
    if (!there || !same(old->second, now->second)) add(delta.put, now->second->text());
    ++now;
    if (there) ++old;
  }
  return delta;
}

}  // namespace

ViewChanges changesBetween(const ConsoleView& before, const ConsoleView& after) {
  ViewChanges changes;
  changes.from = before.number;
  const auto send = [&](std::string_view topic, const Delta& delta) {
    if (delta.empty()) return;
    if (delta.isTooLarge()) {
      changes.list.push_back({topic, true, jsonText(bj::object{{"topic", topic}})});
      return;
    }
    changes.list.push_back({topic, false,
                            "{\"topic\":\"" + std::string(topic) +
                                "\",\"data_time_ms\":" + std::to_string(after.data_ms) +
                                ",\"put\":[" + delta.put + "],\"drop\":[" + delta.drop + "]}"});
  };
  if (after.overview != nullptr &&
      (!same(before.overview, after.overview) || before.data_ms != after.data_ms))
    send("overview", {after.overview->text(), {}});
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
