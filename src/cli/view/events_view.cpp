#include "view/events_view.h"

#include <algorithm>

#include "view/table.h"

namespace divvy::cli {
namespace {

std::string whose(const agent::EventView& event) {
  if (event.tenant.empty() && event.device >= 0) return "device " + std::to_string(event.device);
  return event.name.empty() ? event.tenant : event.name;
}

std::string why(const agent::EventView& event) {
  return event.by.empty() ? event.reason : event.reason + " (by " + event.by + ')';
}

}  // namespace

void sortByTime(NodeEvents& node_events) {
  std::stable_sort(node_events.begin(), node_events.end(), [](const auto& a, const auto& b) {
    return a.second.time_ms < b.second.time_ms;
  });
}

std::string eventsTable(const NodeEvents& node_events, std::string (*stamp)(std::int64_t),
                        bool headers, std::size_t width) {
  Table table({"TIME", "TENANT", "DEVICE>", "KIND", "REASON"});
  for (const auto& [node, event] : node_events)
    table.add({stamp(event.time_ms), whose(event),
               event.device < 0 ? "" : std::to_string(event.device), event.kind, why(event)});
  return table.text(headers, width);
}

std::string eventLine(const agent::EventView& event, std::string (*stamp)(std::int64_t)) {
  return stamp(event.time_ms) + "  " + whose(event) + "  " + event.kind + ": " + why(event);
}

}  // namespace divvy::cli
