#include "api/protocol_json.h"

namespace divvy::agent {
namespace json {

bj::object write(const EventView& event) {
  bj::object object{{"seq", event.seq},
                    {"time_ms", event.time_ms},
                    {"tenant", event.tenant},
                    {"name", clean(event.name)},
                    {"device", event.device < 0 ? bj::value(nullptr) : bj::value(event.device)}};
  object["kind"] = event.kind;
  object["reason"] = clean(event.reason);
  if (!event.by.empty()) object["by"] = clean(event.by);
  return object;
}

void read(Reader& reader, EventView& out) {
  reader.number("seq", out.seq);
  reader.number("time_ms", out.time_ms);
  reader.text("tenant", out.tenant);
  reader.text("name", out.name);
  const bj::value* device = reader.find("device");
  if (device != nullptr && !device->is_null()) reader.number("device", out.device);
  reader.text("kind", out.kind);
  reader.text("reason", out.reason);
  if (reader.find("by") != nullptr) reader.text("by", out.by);
}

// Values that were not requested are left out.
void writeIdle(bj::object& object, const IdleRequest& idle) {
  if (idle.reclaim_ms) object["idle_reclaim_ms"] = *idle.reclaim_ms;
  if (idle.stop_ms) object["idle_stop_ms"] = *idle.stop_ms;
}

void readIdle(Reader& reader, IdleRequest& out) {
  if (reader.find("idle_reclaim_ms") != nullptr)
    reader.number("idle_reclaim_ms", out.reclaim_ms.emplace());
  if (reader.find("idle_stop_ms") != nullptr) reader.number("idle_stop_ms", out.stop_ms.emplace());
}

}  // namespace json

std::string eventsJson(const std::vector<std::pair<std::string, EventView>>& events, bool lines) {
  json::bj::array all;
  std::string text;
  for (const auto& [node, event] : events) {
    json::bj::object row{{"node", node}};
    for (const auto& member : json::write(event)) row[member.key()] = member.value();
    if (lines) text += json::bj::serialize(row) + "\n";
    all.push_back(std::move(row));
  }
  return lines ? text : json::pretty(all);
}

}  // namespace divvy::agent
