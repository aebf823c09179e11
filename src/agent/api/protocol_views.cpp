#include "api/protocol_json.h"

#include <concepts>
#include <type_traits>

namespace divvy::agent {
namespace json {
namespace {

// The counterpart of Reader.
class Writer {
 public:
  template <typename T>
  void number(const char* name, T value) {
    object_[name] = value;
  }
  void flag(const char* name, bool value) { object_[name] = value; }
  void text(const char* name, const std::string& value) { object_[name] = clean(value); }
  void texts(const char* name, const std::vector<std::string>& values) {
    object_[name] = json::write(values);
  }
  void set(const char* name, bj::value value) { object_[name] = std::move(value); }

  bj::object take() { return std::move(object_); }

 private:
  bj::object object_;
};

// An unknown figure is `null`.
void known(Writer& to, const char* name, int figure) {
  to.set(name, figure < 0 ? bj::value(nullptr) : bj::value(figure));
}
void known(Reader& from, const char* name, int& out) {
  const bj::value* member = from.find(name);
  if (member != nullptr && !member->is_null()) from.number(name, out);
}

// An empty note is left out.
void note(Writer& to, const std::string& text) {
  if (!text.empty()) to.text("note", text);
}
void note(Reader& from, std::string& out) {
  from.text("note", out);
}

template <typename View, typename Base>
concept Of = std::same_as<std::remove_const_t<View>, Base>;

// The members of each view, in the order in which they are written: `io` is a Reader, or a Writer
// of constant views.
struct Members {
  template <typename Io, Of<DeviceView> View>
  static void of(Io& io, View& view) {
    io.number("index", view.index);
    io.text("uuid", view.uuid);
    io.text("model", view.model);
    io.text("pci", view.pci);
    io.number("physical", view.physical);
    io.number("allocated", view.allocated);
    io.number("used", view.used);
    io.number("context", view.context);
    io.number("cores", view.cores);
    io.number("tenants", view.tenants);
    known(io, "utilisation", view.utilisation);
    io.number("overcommit_permille", view.overcommit_permille);
    io.number("budget", view.budget);
    io.number("promised", view.promised);
    io.number("guaranteed", view.guaranteed);
    io.number("booked", view.booked);
    io.number("ratio_permille", view.ratio_permille);
    io.number("quantum_ms", view.quantum_ms);
    io.number("swap_predicted_ms", view.swap_predicted_ms);
    io.number("swap_actual_ms", view.swap_actual_ms);
    io.number("checkpointed", view.checkpointed);
    io.flag("thrash_risk", view.thrash_risk);
    io.text("fault", view.fault);
    io.flag("excluded", view.excluded);
    io.text("pool", view.pool);
    known(io, "numa", view.numa);
    list(io, "links", view.links);
    list(io, "nics", view.nics);
  }

  template <typename Io, Of<LinkView> View>
  static void of(Io& io, View& view) {
    io.number("device", view.device);
    io.number("score", view.score);
    io.flag("direct", view.direct);
  }

  template <typename Io, Of<NicView> View>
  static void of(Io& io, View& view) {
    io.text("name", view.name);
    io.number("distance", view.distance);
  }

  template <typename Io, Of<ShareView> View>
  static void of(Io& io, View& view) {
    io.number("device", view.device);
    io.text("uuid", view.uuid);
    io.number("limit", view.limit);
    io.number("used", view.used);
    io.number("cores", view.cores);
    known(io, "utilisation", view.utilisation);
    known(io, "got_permille", view.got_permille);
    io.number("guarantee", view.guarantee);
    io.number("allowed", view.allowed);
    io.number("resident", view.resident);
    io.number("swapped", view.swapped);
    io.number("pinned", view.pinned);
    io.number("out_bps", view.out_bps);
    io.number("in_bps", view.in_bps);
  }

  template <typename Io, Of<TenantView> View>
  static void of(Io& io, View& view) {
    io.text("id", view.id);
    io.text("name", view.name);
    io.text("namespace", view.namespace_name);
    io.text("pod", view.pod);
    io.text("container", view.container);
    io.text("state", view.state);
    io.text("priority", view.priority);
    io.number("pid", view.pid);
    io.number("processes", view.processes);
    io.number("created", view.created);
    io.number("refused", view.refused);
    io.number("refused_bytes", view.refused_bytes);
    io.texts("command", view.command);
    list(io, "shares", view.shares);
    ofCompute(io, view);
    ofMemory(io, view);
    note(io, view.note);
  }

  // Sharing of compute.
  template <typename Io, Of<TenantView> View>
  static void ofCompute(Io& io, View& view) {
    io.text("mode", view.mode);
    io.text("backend", view.backend);
    io.text("cores_policy", view.cores_policy);
    io.text("expected_use", view.expected_use);
    io.number("weight", view.weight);
    io.number("throttled_permille", view.throttled_permille);
    io.number("throttled_ms", view.throttled_ms);
    io.number("waits", view.waits);
    io.number("grants_per_s", view.grants_per_s);
    io.number("longest_us", view.longest_us);
    io.number("escapes", view.escapes);
    io.number("cpu_permille", view.cpu_permille);
    io.flag("unpreemptible", view.unpreemptible);
    io.flag("distrusted", view.distrusted);
    io.text("bypass", view.bypass);
  }

  // State of memory.
  template <typename Io, Of<TenantView> View>
  static void ofMemory(Io& io, View& view) {
    io.text("memory", view.memory);
    io.text("memory_reason", view.memory_reason);
    io.text("lent_to", view.lent_to);
    io.text("unswapped", view.unswapped);
    io.text("host_map", view.host_map);
    io.text("refusal", view.refusal);
    io.texts("pinned_by", view.pinned_by);
    io.text("checkpoint", view.checkpoint);
    io.text("checkpoint_note", view.checkpoint_note);
    io.number("swaps", view.swaps);
    io.number("longest_wait_ms", view.longest_wait_ms);
    io.number("turn_left_ms", view.turn_left_ms);
    io.flag("idle_known", view.idle_known);
    io.number("idle_s", view.idle_s);
    io.number("idle_reclaim_s", view.idle_reclaim_s);
    io.number("idle_stop_s", view.idle_stop_s);
    io.text("stop", view.stop);
    io.number("stop_left_s", view.stop_left_s);
    io.number("pressed", view.pressed);
    io.number("pressure_waits", view.pressure_waits);
    io.number("refused_short", view.refused_short);
    io.number("refused_short_bytes", view.refused_short_bytes);
    io.text("on_pressure", view.on_pressure);
    io.number("pressure_wait_ms", view.pressure_wait_ms);
  }

  template <typename Io, Of<QueuedView> View>
  static void of(Io& io, View& view) {
    io.number("pid", view.pid);
    io.text("name", view.name);
    io.text("memory", view.memory);
    io.number("gpus", view.gpus);
    io.text("reason", view.reason);
  }

  template <typename Io, Of<Snapshot> View>
  static void of(Io& io, View& view) {
    io.text("node", view.node);
    io.text("driver", view.driver);
    io.number("agent_pid", view.agent_pid);
    io.number("host_reserve", view.host_reserve);
    io.number("host_promised", view.host_promised);
    io.number("loop_late_ms", view.loop_late_ms);
    list(io, "devices", view.devices);
    list(io, "tenants", view.tenants);
    list(io, "queue", view.queue);
  }

  template <typename View>
  static void list(Writer& to, const char* name, const std::vector<View>& views) {
    bj::array array;
    for (const View& view : views) {
      Writer one;
      of(one, view);
      array.push_back(one.take());
    }
    to.set(name, std::move(array));
  }
  template <typename View>
  static void list(Reader& from, const char* name, std::vector<View>& out) {
    from.each(name, [&](Reader& item) { of(item, out.emplace_back()); });
  }
};

// Each row has the node's name, so that rows of several nodes can be in one list.
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
  Writer whole;
  Members::of(whole, snapshot);
  return whole.take();
}

void read(Reader& reader, Snapshot& out) {
  Members::of(reader, out);
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
