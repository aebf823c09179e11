#include <boost/json.hpp>

#include "rows/json_text.h"
#include "rows/rows.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

// An instant or a duration that does not apply is null.
bj::value msOrNull(bool applies, std::uint64_t seconds) {
  return applies ? bj::value(seconds * 1000) : bj::value(nullptr);
}

std::string modelOf(const agent::Snapshot& node, unsigned index) {
  for (const agent::DeviceView& device : node.devices) {
    if (device.index == index) return device.model;
  }
  return {};
}

Row partRow(const agent::Snapshot& node, const agent::ShareView& share) {
  return Row{{"id", share.uuid},
             {"index", share.device},
             {"model", modelOf(node, share.device)},
             {"limit_bytes", share.limit},
             {"guaranteed_bytes", share.guarantee},
             {"used_bytes", share.used},
             {"allowed_bytes", share.allowed},
             {"resident_bytes", share.resident},
             {"swapped_bytes", share.swapped},
             {"pinned_bytes", share.pinned},
             {"cores_percent", share.cores},
             {"utilisation_percent", knownOrNull(share.utilisation)},
             {"usage_permille", knownOrNull(share.got_permille)},
             {"swap_out_bytes_per_s", share.out_bps},
             {"swap_in_bytes_per_s", share.in_bps}};
}

// Sums over a tenant's devices.
struct ShareSums {
  std::uint64_t limit = 0, guaranteed = 0, used = 0, resident = 0, swapped = 0, pinned = 0;
  unsigned cores = 0;
  int usage = -1;  // unknown until one device knows it
};

ShareSums sumsOf(const agent::TenantView& tenant) {
  ShareSums sums;
  for (const agent::ShareView& share : tenant.shares) {
    sums.limit += share.limit;
    sums.guaranteed += share.guarantee;
    sums.used += share.used;
    sums.resident += share.resident;
    sums.swapped += share.swapped;
    sums.pinned += share.pinned;
    sums.cores += share.cores;
    if (share.got_permille >= 0) sums.usage = std::max(sums.usage, 0) + share.got_permille;
  }
  return sums;
}

bj::array textsOf(const std::vector<std::string>& texts) {
  bj::array array;
  for (const std::string& text : texts) array.push_back(bj::value(text));
  return array;
}

void addIdentity(Row& row, const agent::Snapshot& node, const agent::TenantView& tenant) {
  row["id"] = shareId(node.node, tenant.id);
  row["node"] = node.node;
  row["tenant"] = tenant.id;
  row["name"] = tenant.name;
  row["state"] = tenant.state;
  row["priority"] = tenant.priority;
  row["note"] = tenant.note;
  row["pid"] = tenant.pid == 0 ? bj::value(nullptr) : bj::value(tenant.pid);
  row["processes"] = tenant.processes;
  row["created_ms"] = tenant.created * 1000;
  row["command"] = textsOf(tenant.command);
}

void addAmounts(Row& row, const agent::Snapshot& node, const agent::TenantView& tenant) {
  const ShareSums sums = sumsOf(tenant);
  row["limit_bytes"] = sums.limit;
  row["guaranteed_bytes"] = sums.guaranteed;
  row["used_bytes"] = sums.used;
  row["resident_bytes"] = sums.resident;
  row["swapped_bytes"] = sums.swapped;
  row["pinned_bytes"] = sums.pinned;
  row["cores_percent"] = sums.cores;
  row["usage_permille"] = knownOrNull(sums.usage);
  row["weight_percent"] = tenant.weight;
  bj::array devices;
  for (const agent::ShareView& share : tenant.shares) devices.push_back(partRow(node, share));
  row["devices"] = std::move(devices);
}

void addCompute(Row& row, const agent::TenantView& tenant) {
  row["mode"] = tenant.mode;
  row["backend"] = tenant.backend;
  row["cores_policy"] = tenant.cores_policy;
  row["throttled_permille"] = tenant.throttled_permille;
  row["throttled_ms"] = tenant.throttled_ms;
  row["launch_waits"] = tenant.waits;
  row["grants_per_s"] = tenant.grants_per_s;
  row["longest_kernel_us"] = tenant.longest_us;
  row["overhead_cpu_permille"] = tenant.cpu_permille;
}

void addMemory(Row& row, const agent::Snapshot& node, const agent::TenantView& tenant) {
  row["refused_allocations"] = tenant.refused;
  row["pressure_waits"] = tenant.pressure_waits;
  row["swaps"] = tenant.swaps;
  row["longest_wait_ms"] = tenant.longest_wait_ms;
  row["turn_left_ms"] = tenant.turn_left_ms;
  row["memory_state"] = tenant.memory;
  row["memory_reason"] = tenant.memory_reason;
  row["lent_to"] =
      tenant.lent_to.empty() ? bj::value(nullptr) : bj::value(shareId(node.node, tenant.lent_to));
}

void addIdle(Row& row, const agent::TenantView& tenant) {
  row["idle_ms"] = msOrNull(tenant.idle_known, tenant.idle_s);
  row["idle_reclaim_ms"] = msOrNull(tenant.idle_reclaim_s != 0, tenant.idle_reclaim_s);
  row["idle_stop_ms"] = msOrNull(tenant.idle_stop_s != 0, tenant.idle_stop_s);
  row["stop_state"] = tenant.stop.empty() ? bj::value(nullptr) : bj::value(tenant.stop);
  row["stop_left_ms"] = msOrNull(!tenant.stop.empty(), tenant.stop_left_s);
}

}  // namespace

std::string shareId(std::string_view node, std::string_view tenant) {
  return std::string(node) + "/" + std::string(tenant);
}

const std::vector<std::string_view>& shareFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "tenant",
      "name",
      "state",
      "priority",
      "note",
      "pid",
      "processes",
      "created_ms",
      "command",
      "limit_bytes",
      "guaranteed_bytes",
      "used_bytes",
      "resident_bytes",
      "swapped_bytes",
      "pinned_bytes",
      "cores_percent",
      "usage_permille",
      "weight_percent",
      "devices",
      "mode",
      "backend",
      "cores_policy",
      "throttled_permille",
      "throttled_ms",
      "launch_waits",
      "grants_per_s",
      "longest_kernel_us",
      "overhead_cpu_permille",
      "refused_allocations",
      "pressure_waits",
      "swaps",
      "longest_wait_ms",
      "turn_left_ms",
      "memory_state",
      "memory_reason",
      "lent_to",
      "idle_ms",
      "idle_reclaim_ms",
      "idle_stop_ms",
      "stop_state",
      "stop_left_ms",
      "bypass",
      "usage_mismatch",
      "checkpoint",
      "slow_reasons",
  };
  return fields;
}

Row shareRow(const agent::Snapshot& node, const agent::TenantView& tenant,
             const std::vector<std::string>& slow) {
  Row row;
  row.reserve(shareFields().size());
  addIdentity(row, node, tenant);
  addAmounts(row, node, tenant);
  addCompute(row, tenant);
  addMemory(row, node, tenant);
  addIdle(row, tenant);
  row["bypass"] = tenant.bypass;
  row["usage_mismatch"] = tenant.distrusted;
  row["checkpoint"] = tenant.checkpoint;
  row["slow_reasons"] = textsOf(slow);
  return row;
}

}  // namespace divvy::console
