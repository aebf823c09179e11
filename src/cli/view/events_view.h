// Events as text. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/protocol.h"

namespace divvy::cli {

// Events with their nodes. `stamp` turns milliseconds since 1970 into the text under TIME.
using NodeEvents = std::vector<std::pair<std::string, agent::EventView>>;

// Sorts events of several nodes by time.
void sortByTime(NodeEvents& node_events);

std::string eventsTable(const NodeEvents& node_events, std::string (*stamp)(std::int64_t),
                        bool headers, std::size_t width);
// One event: "12:30:05 web yielded: ...".
std::string eventLine(const agent::EventView& event, std::string (*stamp)(std::int64_t));

}  // namespace divvy::cli
