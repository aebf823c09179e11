#include <boost/json.hpp>

#include "rows/rows.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

bj::value uuidOf(const agent::Snapshot& node, int index) {
  for (const agent::DeviceView& device : node.devices) {
    if (index >= 0 && device.index == static_cast<unsigned>(index)) return bj::value(device.uuid);
  }
  return nullptr;
}

}  // namespace

const std::vector<std::string_view>& waitingFields() {
  static const std::vector<std::string_view> fields{
      "id", "node", "pid", "name", "memory", "gpus", "position", "kind", "reason", "since_ms",
  };
  return fields;
}

Row waitingRow(const agent::Snapshot& node, const agent::QueuedView& queued, unsigned position) {
  return Row{{"id", shareId(node.node, std::to_string(queued.pid))},
             {"node", node.node},
             {"pid", queued.pid},
             {"name", queued.name},
             {"memory", queued.memory},
             {"gpus", queued.gpus},
             {"position", position},
             {"kind", "waits-for-room"},
             {"reason", queued.reason},
             {"since_ms", nullptr}};
}

const std::vector<std::string_view>& nodeFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "driver",
      "agent_pid",
      "host_reserve_bytes",
      "host_committed_bytes",
      "loop_late_ms",
      "devices",
      "shares",
      "waiting",
  };
  return fields;
}

Row nodeRow(const agent::Snapshot& node) {
  return Row{
      {"id", node.node},
      {"node", node.node},
      {"driver", node.driver},
      {"agent_pid", node.agent_pid},
      {"host_reserve_bytes", node.host_reserve},
      {"host_committed_bytes", node.host_promised},
      {"loop_late_ms", node.loop_late_ms < 0 ? bj::value(nullptr) : bj::value(node.loop_late_ms)},
      {"devices", node.devices.size()},
      {"shares", node.tenants.size()},
      {"waiting", node.queue.size()}};
}

const std::vector<std::string_view>& eventFields() {
  static const std::vector<std::string_view> fields{
      "id", "time_ms", "node", "kind", "share", "name", "device", "text", "actor",
  };
  return fields;
}

Row eventRow(const agent::Snapshot& node, const agent::EventView& event) {
  return Row{
      {"id", shareId(node.node, std::to_string(node.agent_pid) + "-" + std::to_string(event.seq))},
      {"time_ms", event.time_ms},
      {"node", node.node},
      {"kind", event.kind},
      {"share",
       event.tenant.empty() ? bj::value(nullptr) : bj::value(shareId(node.node, event.tenant))},
      {"name", event.name},
      {"device", uuidOf(node, event.device)},
      {"text", event.reason},
      {"actor", event.by}};
}

}  // namespace divvy::console
