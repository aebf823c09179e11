#include "wire_json.h"

namespace divvy::agent {
namespace json {
namespace {

// `null` stands for a figure that is not known.
bj::value known(int figure) {
  return figure < 0 ? bj::value(nullptr) : bj::value(figure);
}

bj::object write(const DeviceView& view) {
  bj::object object{{"index", view.index},        {"uuid", view.uuid},
                    {"model", clean(view.model)}, {"pci", view.pci},
                    {"physical", view.physical},  {"allocated", view.allocated},
                    {"used", view.used},          {"context", view.context},
                    {"cores", view.cores},        {"tenants", view.tenants}};
  object["utilisation"] = known(view.utilisation);
  object["overcommit_permille"] = view.overcommit_permille;
  object["budget"] = view.budget;
  object["promised"] = view.promised;
  object["guaranteed"] = view.guaranteed;
  object["booked"] = view.booked;
  object["ratio_permille"] = view.ratio_permille;
  object["quantum_ms"] = view.quantum_ms;
  object["swap_predicted_ms"] = view.swap_predicted_ms;
  object["swap_actual_ms"] = view.swap_actual_ms;
  object["checkpointed"] = view.checkpointed;
  object["thrash_risk"] = view.thrash_risk;
  return object;
}

bj::object write(const ShareView& view) {
  bj::object object{{"device", view.device},
                    {"uuid", view.uuid},
                    {"limit", view.limit},
                    {"used", view.used},
                    {"cores", view.cores}};
  object["utilisation"] = known(view.utilisation);
  object["got_permille"] = known(view.got_permille);
  object["guarantee"] = view.guarantee;
  object["allowed"] = view.allowed;
  object["resident"] = view.resident;
  object["swapped"] = view.swapped;
  object["pinned"] = view.pinned;
  object["out_bps"] = view.out_bps;
  object["in_bps"] = view.in_bps;
  return object;
}

// How its memory is.
void writeMemory(bj::object& object, const TenantView& view) {
  object["memory"] = view.memory;
  object["memory_reason"] = view.memory_reason;
  object["lent_to"] = view.lent_to;
  object["unswapped"] = clean(view.unswapped);
  object["host_map"] = view.host_map;
  object["refusal"] = view.refusal;
  object["pinned_by"] = json::write(view.pinned_by);
  object["checkpoint"] = view.checkpoint;
  object["checkpoint_note"] = view.checkpoint_note;
  object["swaps"] = view.swaps;
  object["longest_wait_ms"] = view.longest_wait_ms;
  object["turn_left_ms"] = view.turn_left_ms;
  object["idle_s"] = view.idle_s;
  object["idle_reclaim_s"] = view.idle_reclaim_s;
  object["idle_stop_s"] = view.idle_stop_s;
  object["stop"] = view.stop;
  object["stop_left_s"] = view.stop_left_s;
  object["pressed"] = view.pressed;
  object["pressure_waits"] = view.pressure_waits;
  object["refused_short"] = view.refused_short;
  object["on_pressure"] = view.on_pressure;
  object["pressure_wait_ms"] = view.pressure_wait_ms;
}

// How its use of compute is shared.
void writeCompute(bj::object& object, const TenantView& view) {
  object["mode"] = view.mode;
  object["backend"] = view.backend;
  object["cores_policy"] = view.cores_policy;
  object["weight"] = view.weight;
  object["throttled_permille"] = view.throttled_permille;
  object["throttled_ms"] = view.throttled_ms;
  object["waits"] = view.waits;
  object["grants_per_s"] = view.grants_per_s;
  object["longest_us"] = view.longest_us;
  object["escapes"] = view.escapes;
  object["cpu_permille"] = view.cpu_permille;
  object["unpreemptible"] = view.unpreemptible;
  object["distrusted"] = view.distrusted;
}

bj::object write(const TenantView& view) {
  bj::array shares;
  for (const ShareView& share : view.shares) shares.push_back(write(share));
  bj::object object{{"id", view.id},           {"name", clean(view.name)},
                    {"state", view.state},     {"priority", view.priority},
                    {"pid", view.pid},         {"processes", view.processes},
                    {"created", view.created}, {"refused", view.refused}};
  object["command"] = json::write(view.command);
  object["shares"] = std::move(shares);
  writeCompute(object, view);
  writeMemory(object, view);
  if (!view.note.empty()) object["note"] = clean(view.note);
  return object;
}

void readKnown(Reader& reader, const char* name, int& out) {
  const bj::value* member = reader.find(name);
  if (member != nullptr && !member->is_null()) reader.number(name, out);
}

void read(Reader& reader, DeviceView& out) {
  reader.number("index", out.index);
  reader.text("uuid", out.uuid);
  reader.text("model", out.model);
  reader.text("pci", out.pci);
  reader.number("physical", out.physical);
  reader.number("allocated", out.allocated);
  reader.number("used", out.used);
  reader.number("context", out.context);
  reader.number("cores", out.cores);
  reader.number("tenants", out.tenants);
  readKnown(reader, "utilisation", out.utilisation);
  reader.number("overcommit_permille", out.overcommit_permille);
  reader.number("budget", out.budget);
  reader.number("promised", out.promised);
  reader.number("guaranteed", out.guaranteed);
  reader.number("booked", out.booked);
  reader.number("ratio_permille", out.ratio_permille);
  reader.number("quantum_ms", out.quantum_ms);
  reader.number("swap_predicted_ms", out.swap_predicted_ms);
  reader.number("swap_actual_ms", out.swap_actual_ms);
  reader.number("checkpointed", out.checkpointed);
  reader.flag("thrash_risk", out.thrash_risk);
}

void read(Reader& reader, ShareView& out) {
  reader.number("device", out.device);
  reader.text("uuid", out.uuid);
  reader.number("limit", out.limit);
  reader.number("used", out.used);
  reader.number("cores", out.cores);
  readKnown(reader, "utilisation", out.utilisation);
  readKnown(reader, "got_permille", out.got_permille);
  reader.number("guarantee", out.guarantee);
  reader.number("allowed", out.allowed);
  reader.number("resident", out.resident);
  reader.number("swapped", out.swapped);
  reader.number("pinned", out.pinned);
  reader.number("out_bps", out.out_bps);
  reader.number("in_bps", out.in_bps);
}

void readMemory(Reader& reader, TenantView& out) {
  reader.text("memory", out.memory);
  reader.text("memory_reason", out.memory_reason);
  reader.text("lent_to", out.lent_to);
  reader.text("unswapped", out.unswapped);
  reader.text("host_map", out.host_map);
  reader.text("refusal", out.refusal);
  reader.texts("pinned_by", out.pinned_by);
  reader.text("checkpoint", out.checkpoint);
  reader.text("checkpoint_note", out.checkpoint_note);
  reader.number("swaps", out.swaps);
  reader.number("longest_wait_ms", out.longest_wait_ms);
  reader.number("turn_left_ms", out.turn_left_ms);
  reader.number("idle_s", out.idle_s);
  reader.number("idle_reclaim_s", out.idle_reclaim_s);
  reader.number("idle_stop_s", out.idle_stop_s);
  reader.text("stop", out.stop);
  reader.number("stop_left_s", out.stop_left_s);
  reader.number("pressed", out.pressed);
  reader.number("pressure_waits", out.pressure_waits);
  reader.number("refused_short", out.refused_short);
  reader.text("on_pressure", out.on_pressure);
  reader.number("pressure_wait_ms", out.pressure_wait_ms);
}

void readCompute(Reader& reader, TenantView& out) {
  reader.text("mode", out.mode);
  reader.text("backend", out.backend);
  reader.text("cores_policy", out.cores_policy);
  reader.number("weight", out.weight);
  reader.number("throttled_permille", out.throttled_permille);
  reader.number("throttled_ms", out.throttled_ms);
  reader.number("waits", out.waits);
  reader.number("grants_per_s", out.grants_per_s);
  reader.number("longest_us", out.longest_us);
  reader.number("escapes", out.escapes);
  reader.number("cpu_permille", out.cpu_permille);
  reader.flag("unpreemptible", out.unpreemptible);
  reader.flag("distrusted", out.distrusted);
}

void read(Reader& reader, TenantView& out) {
  reader.text("id", out.id);
  reader.text("name", out.name);
  reader.text("state", out.state);
  reader.text("priority", out.priority);
  reader.text("note", out.note);
  reader.number("pid", out.pid);
  reader.number("processes", out.processes);
  reader.number("created", out.created);
  reader.number("refused", out.refused);
  reader.texts("command", out.command);
  readCompute(reader, out);
  readMemory(reader, out);
  reader.each("shares", [&](Reader& item) { read(item, out.shares.emplace_back()); });
}

// The node's name goes into every row, so that rows of several nodes can stand in one list.
bj::array rows(const Snapshot& node, const char* what) {
  bj::array result;
  const bj::object whole = json::write(node);
  for (const bj::value& item : whole.at(what).get_array()) {
    bj::object row{{"node", node.node}};
    for (const auto& member : item.get_object()) row[member.key()] = member.value();
    result.push_back(std::move(row));
  }
  return result;
}

std::string joined(const std::vector<Snapshot>& nodes, const char* what) {
  bj::array all;
  for (const Snapshot& node : nodes) {
    for (bj::value& row : rows(node, what)) all.push_back(std::move(row));
  }
  return pretty(all);
}

}  // namespace

bj::object write(const Snapshot& snapshot) {
  bj::array devices;
  bj::array tenants;
  bj::array queue;
  for (const DeviceView& view : snapshot.devices) devices.push_back(write(view));
  for (const TenantView& view : snapshot.tenants) tenants.push_back(write(view));
  for (const QueuedView& view : snapshot.queue) {
    queue.push_back(bj::object{{"pid", view.pid},
                               {"name", clean(view.name)},
                               {"memory", view.memory},
                               {"gpus", view.gpus},
                               {"reason", clean(view.reason)}});
  }
  bj::object object{
      {"node", snapshot.node}, {"driver", snapshot.driver}, {"agent_pid", snapshot.agent_pid}};
  object["host_reserve"] = snapshot.host_reserve;
  object["host_promised"] = snapshot.host_promised;
  object["devices"] = std::move(devices);
  object["tenants"] = std::move(tenants);
  object["queue"] = std::move(queue);
  return object;
}

void read(Reader& reader, Snapshot& out) {
  reader.text("node", out.node);
  reader.text("driver", out.driver);
  reader.number("agent_pid", out.agent_pid);
  reader.number("host_reserve", out.host_reserve);
  reader.number("host_promised", out.host_promised);
  reader.each("devices", [&](Reader& item) { read(item, out.devices.emplace_back()); });
  reader.each("tenants", [&](Reader& item) { read(item, out.tenants.emplace_back()); });
  reader.each("queue", [&](Reader& item) {
    QueuedView& view = out.queue.emplace_back();
    item.number("pid", view.pid);
    item.text("name", view.name);
    item.text("memory", view.memory);
    item.number("gpus", view.gpus);
    item.text("reason", view.reason);
  });
}

}  // namespace json

std::string devicesJson(const std::vector<Snapshot>& nodes) {
  return json::joined(nodes, "devices");
}
std::string tenantsJson(const std::vector<Snapshot>& nodes) {
  return json::joined(nodes, "tenants");
}

std::string snapshotsJson(const std::vector<Snapshot>& nodes) {
  json::bj::array all;
  for (const Snapshot& node : nodes) all.push_back(json::write(node));
  return json::pretty(all);
}

}  // namespace divvy::agent
