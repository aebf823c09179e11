// Rows of the console's lists as docs/reference/console-api.md describes them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/protocol.h"

namespace divvy::console {

using Row = boost::json::object;
using Rows = std::map<std::string, Row, std::less<>>;  // by identifier

// A share that computed nothing for this long counts as idle in totals.
constexpr std::uint64_t kIdleMs = 15 * 60 * 1000;

// The names of the members of each kind of row, in their order.
const std::vector<std::string_view>& deviceFields();
const std::vector<std::string_view>& shareFields();
const std::vector<std::string_view>& waitingFields();
const std::vector<std::string_view>& eventFields();
const std::vector<std::string_view>& nodeFields();

// `device` and `tenant` are of `node`. The identifier of a device is its UUID; that of a share is
// NODE/TENANT.
Row deviceRow(const agent::Snapshot& node, const agent::DeviceView& device);
Row shareRow(const agent::Snapshot& node, const agent::TenantView& tenant,
             const std::vector<std::string>& slow);
// `position` counts from 1.
Row waitingRow(const agent::Snapshot& node, const agent::QueuedView& queued, unsigned position);
Row nodeRow(const agent::Snapshot& node);
// `node`: the agent's last snapshot, for the device's UUID.
Row eventRow(const agent::Snapshot& node, const agent::EventView& event);

// The identifier of a tenant's share in all lists, links and series.
std::string shareId(std::string_view node, std::string_view tenant);

}  // namespace divvy::console
