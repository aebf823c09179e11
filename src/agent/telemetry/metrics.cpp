#include "telemetry/metrics.h"

#include <optional>

#include "metrics/exposition.h"
#include "telemetry/hami_metrics.h"

namespace divvy::agent {
namespace {

using metrics::Exposition;
using Value = std::optional<double>;

constexpr double kPermille = 1000;
constexpr double kPercent = 100;
constexpr double kMillisecond = 1e-3;
constexpr double kMicrosecond = 1e-6;
constexpr unsigned kWholePermille = 1000;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

// A metric family for one kind of object.
template <typename Of>
struct Family {
  const char* name;
  const char* type;
  const char* help;
  Value (*value)(const Of&);
};

struct Card {
  const DeviceView& view;
  Value foreign;
  const MetricsInput::UnmanagedUse* strangers;  // null: unknown
  bool faulty;
};

constexpr Family<Card> kCards[] = {
    {"divvy_device_memory_total_bytes", "gauge", "Memory of the device in bytes",
     [](const Card& card) -> Value { return number(card.view.physical); }},
    {"divvy_device_memory_used_bytes", "gauge",
     "Device memory in use by all processes in bytes, measured by the driver",
     [](const Card& card) -> Value {
       // The driver did not answer.
       if (card.view.used == 0 && card.view.utilisation < 0) return std::nullopt;
       return number(card.view.used);
     }},
    {"divvy_device_memory_limits_bytes", "gauge",
     "Sum of the memory limits of the device's tenants in bytes",
     [](const Card& card) -> Value { return number(card.view.promised); }},
    {"divvy_device_memory_guaranteed_bytes", "gauge",
     "Sum of the memory guarantees of the device's tenants in bytes",
     [](const Card& card) -> Value { return number(card.view.guaranteed); }},
    {"divvy_device_memory_budget_bytes", "gauge",
     "Memory of tenants that can be resident at once, in bytes",
     [](const Card& card) -> Value { return number(card.view.budget); }},
    {"divvy_device_overcommit_ratio", "gauge",
     "Memory that may be allocated, divided by the memory of the device; 1: no overcommitment",
     [](const Card& card) -> Value { return card.view.overcommit_permille / kPermille; }},
    {"divvy_device_memory_pressure_ratio", "gauge",
     "Memory that the active tenants need, divided by the budget; no sample without overcommitment",
     [](const Card& card) -> Value {
       if (card.view.overcommit_permille == kWholePermille) return std::nullopt;
       return card.view.ratio_permille / kPermille;
     }},
    {"divvy_device_thrash_risk", "gauge",
     "1: the device's tenants swap too often for the work between swaps",
     [](const Card& card) -> Value { return card.view.thrash_risk ? 1 : 0; }},
    {"divvy_device_context_bytes", "gauge",
     "Memory that one CUDA context needs on the device, in bytes",
     [](const Card& card) -> Value { return number(card.view.context); }},
    {"divvy_device_compute_requested_ratio", "gauge",
     "Sum of the compute that tenants requested; 1: a whole device; can exceed 1",
     [](const Card& card) -> Value { return card.view.cores / kPercent; }},
    {"divvy_device_utilisation_ratio", "gauge",
     "Part of the time in which the device was in use, measured by the driver",
     [](const Card& card) -> Value {
       if (card.view.utilisation < 0) return std::nullopt;
       return card.view.utilisation / kPercent;
     }},
    {"divvy_device_unmanaged_utilisation_ratio", "gauge",
     "Part of the device's time that unmanaged processes used, measured by the driver",
     [](const Card& card) -> Value { return card.foreign; }},
    {"divvy_device_unmanaged_processes", "gauge",
     "Unmanaged processes with a context on the device",
     [](const Card& card) -> Value {
       if (card.strangers == nullptr) return std::nullopt;
       return card.strangers->processes;
     }},
    {"divvy_device_unmanaged_memory_bytes", "gauge",
     "Device memory of unmanaged processes in bytes, measured by the driver",
     [](const Card& card) -> Value {
       if (card.strangers == nullptr) return std::nullopt;
       return number(card.strangers->bytes.count);
     }},
    {"divvy_device_graphics_memory_bytes", "gauge",
     "Device memory of graphics-only processes in bytes; it counts against no limit",
     [](const Card& card) -> Value {
       if (card.strangers == nullptr) return std::nullopt;
       return number(card.strangers->graphics.count);
     }},
    {"divvy_device_hardware_healthy", "gauge", "1: the driver reports no fault",
     [](const Card& card) -> Value { return card.faulty ? 0 : 1; }},
    {"divvy_device_unmanaged_use", "gauge",
     "1: a healthy device takes no new tenants, because an unmanaged workload uses it",
     [](const Card& card) -> Value { return !card.faulty && !card.view.fault.empty() ? 1 : 0; }},
    {"divvy_device_excluded", "gauge", "1: settings of the node exclude the device from sharing",
     [](const Card& card) -> Value { return card.view.excluded ? 1 : 0; }},
    {"divvy_device_running_tenants", "gauge", "Tenants of the device",
     [](const Card& card) -> Value { return card.view.tenants; }},
    {"divvy_device_checkpointed_tenants", "gauge",
     "Tenants of the device that are checkpointed to the host",
     [](const Card& card) -> Value { return card.view.checkpointed; }},
};

struct Whole {
  const TenantView& view;
  TenantCounters tally;
};

constexpr Family<Whole> kTenants[] = {
    {"divvy_tenant_created_seconds", "gauge",
     "Time of the tenant's creation, in seconds since 1970",
     [](const Whole& whole) -> Value { return static_cast<double>(whole.view.created); }},
    {"divvy_tenant_processes", "gauge", "Processes of the tenant that use the device",
     [](const Whole& whole) -> Value { return whole.view.processes; }},
    {"divvy_tenant_allocations_refused_total", "counter",
     "Allocations refused, because they exceed the tenant's limit",
     [](const Whole& whole) -> Value { return number(whole.view.refused); }},
    {"divvy_tenant_allocations_device_full_total", "counter",
     "Allocations within the limit that were refused, because the device's memory was full",
     [](const Whole& whole) -> Value { return number(whole.tally.allocations_short); }},
    {"divvy_tenant_allocation_waits_total", "counter", "Allocations that waited for device memory",
     [](const Whole& whole) -> Value { return number(whole.tally.allocation_waits); }},
    {"divvy_tenant_weight_ratio", "gauge",
     "Part of the device's time that the tenant gets while all tenants want to run",
     [](const Whole& whole) -> Value { return whole.view.weight / kPercent; }},
    {"divvy_tenant_paused_seconds_total", "counter",
     "Seconds in which the tenant waited for its swapped-out memory, since this agent started",
     [](const Whole& whole) -> Value { return whole.tally.paused; }},
    {"divvy_tenant_throttled_seconds_total", "counter",
     "Seconds in which the tenant waited at the launch gate, since this agent started",
     [](const Whole& whole) -> Value { return number(whole.view.throttled_ms) * kMillisecond; }},
    {"divvy_tenant_launch_waits_total", "counter", "Launches that waited at the launch gate",
     [](const Whole& whole) -> Value { return number(whole.view.waits); }},
    {"divvy_tenant_launch_waits_abandoned_total", "counter",
     "Waits of launches that ended early, because work in flight may depend on the thread",
     [](const Whole& whole) -> Value { return number(whole.view.escapes); }},
    {"divvy_tenant_longest_work_seconds", "gauge",
     "Duration of the tenant's longest kernel or graph in seconds",
     [](const Whole& whole) -> Value { return number(whole.view.longest_us) * kMicrosecond; }},
    {"divvy_tenant_unpreemptible", "gauge",
     "1: work of the tenant does not finish within its time slice",
     [](const Whole& whole) -> Value { return whole.view.unpreemptible ? 1 : 0; }},
    {"divvy_tenant_usage_mismatch", "gauge",
     "1: the tenant reports less use than the driver measures",
     [](const Whole& whole) -> Value { return whole.view.distrusted ? 1 : 0; }},
    {"divvy_tenant_bypass", "gauge",
     "1: the tenant bypasses its limits: another device, a process without Divvy's library, or "
     "more memory than its limit",
     [](const Whole& whole) -> Value { return whole.view.bypass.empty() ? 0 : 1; }},
    {"divvy_tenant_swaps_total", "counter",
     "Returns of the tenant's memory to the device after it was swapped out",
     [](const Whole& whole) -> Value { return number(whole.view.swaps); }},
    {"divvy_tenant_idle_seconds", "gauge",
     "Seconds since the tenant last used its devices, at most since this agent started; by "
     "launches, else by the driver's utilisation",
     [](const Whole& whole) -> Value {
       if (!whole.view.idle_known) return std::nullopt;
       return number(whole.view.idle_s);
     }},
    {"divvy_tenant_overhead_cpu_ratio", "gauge",
     "Part of one processor's time that Divvy used inside the tenant's processes",
     [](const Whole& whole) -> Value { return whole.view.cpu_permille / kPermille; }},
};

struct Share {
  const ShareView& view;
  DeviceUsage bill;
};

constexpr Family<Share> kShares[] = {
    {"divvy_tenant_memory_limit_bytes", "gauge",
     "Memory limit of the tenant on the device, in bytes",
     [](const Share& share) -> Value { return number(share.view.limit); }},
    {"divvy_tenant_memory_used_bytes", "gauge",
     "Memory of the device that the tenant holds, resident or swapped out, in bytes",
     [](const Share& share) -> Value { return number(share.view.used); }},
    {"divvy_tenant_memory_guaranteed_bytes", "gauge",
     "Part of the limit that is never swapped out, in bytes",
     [](const Share& share) -> Value { return number(share.view.guarantee); }},
    {"divvy_tenant_memory_resident_bytes", "gauge",
     "Part of the memory in use that is on the device, in bytes",
     [](const Share& share) -> Value { return number(share.view.resident); }},
    {"divvy_tenant_memory_swapped_bytes", "gauge",
     "Part of the memory in use that is on the host, in bytes",
     [](const Share& share) -> Value { return number(share.view.swapped); }},
    {"divvy_tenant_memory_pinned_bytes", "gauge",
     "Part of the resident memory that cannot be swapped out, in bytes",
     [](const Share& share) -> Value { return number(share.view.pinned); }},
    {"divvy_tenant_compute_requested_ratio", "gauge",
     "Compute that the tenant requested; 1: a whole device; 0: compute that others leave",
     [](const Share& share) -> Value { return share.view.cores / kPercent; }},
    {"divvy_tenant_compute_usage_ratio", "gauge",
     "Part of the device's time in the last second that the tenant was charged for; no sample "
     "while it is alone on the device",
     [](const Share& share) -> Value {
       if (share.view.got_permille < 0) return std::nullopt;
       return share.view.got_permille / kPermille;
     }},
    {"divvy_tenant_utilisation_ratio", "gauge",
     "Part of the device's time that the tenant used, measured by the driver",
     [](const Share& share) -> Value {
       if (share.view.utilisation < 0) return std::nullopt;
       return share.view.utilisation / kPercent;
     }},
    {"divvy_tenant_device_seconds_total", "counter",
     "Device time that the tenant was charged for, or that the driver measured, in seconds since "
     "this agent started",
     [](const Share& share) -> Value { return share.bill.device_seconds; }},
    {"divvy_tenant_memory_byte_seconds_total", "counter",
     "Memory in use multiplied by time, in byte-seconds since this agent started",
     [](const Share& share) -> Value { return share.bill.byte_seconds; }},
};

constexpr const char* kNodeInfo = "divvy_node_info";
constexpr const char* kCardInfo = "divvy_device_hardware_info";
constexpr const char* kFaults = "divvy_device_xid_errors_total";
constexpr const char* kTenantInfo = "divvy_tenant_info";
constexpr const char* kTenantLabels = "divvy_tenant_labels";
constexpr const char* kQueued = "divvy_queued_requests";
constexpr const char* kRefused = "divvy_allocations_refused_total";
constexpr const char* kDeviceFull = "divvy_allocations_device_full_total";
constexpr const char* kHostReserve = "divvy_host_swap_bytes";
constexpr const char* kHostPromised = "divvy_host_swap_committed_bytes";
constexpr const char* kLate = "divvy_agent_loop_lateness_seconds";
constexpr const char* kLatest = "divvy_agent_loop_lateness_max_seconds";

struct Stated {
  const char *name, *type, *help;
};
constexpr Stated kStated[] = {
    {kNodeInfo, "gauge", "Always 1; labels: kind of node, driver version"},
    {kQueued, "gauge", "Requests of divvy run that wait for capacity"},
    {kRefused, "counter",
     "Allocations refused, because they exceed their tenant's limit, of all tenants and of ended "
     "ones, since this agent started"},
    {kDeviceFull, "counter",
     "Allocations within the limit that were refused, because the device's memory was full, of all "
     "tenants and of ended ones, since this agent started"},
    {kHostReserve, "gauge", "Host memory for swapped-out device memory, in bytes"},
    {kHostPromised, "gauge", "Part of that host memory that tenants may need, in bytes"},
    {kLate, "histogram", "Delay of due work on the agent's event loop in seconds"},
    {kLatest, "gauge", "Largest such delay in the last minute, in seconds"},
    {kCardInfo, "gauge",
     "Always 1; labels: index, model, PCI address, pool and NUMA node of the device"},
    {kFaults, "counter",
     "Xid errors that the driver reported since this agent started, by number (label xid); "
     "includes errors that programs cause"},
    {kTenantInfo, "gauge",
     "Always 1; labels: name, priority, mode, backend, state, place of the memory; for a pod also "
     "namespace, pod, container and pod_uid"},
    {kTenantLabels, "gauge",
     "Always 1; labels: the pod labels that --metrics-labels names, as label_NAME; only for pods "
     "that have one of them"},
};

void begin(Exposition* out, const char* name) {
  for (const Stated& one : kStated)
    if (std::string_view(one.name) == name) out->family(one.name, one.type, one.help);
}

void node(Exposition* out, const MetricsInput& all) {
  const Snapshot& snapshot = all.snapshot;
  begin(out, kNodeInfo);
  out->sample({{"kind", snapshot.node}, {"driver", snapshot.driver}}, std::uint64_t{1});
  begin(out, kQueued);
  out->sample({}, std::uint64_t{snapshot.queue.size()});
  begin(out, kRefused);
  out->sample({}, all.refused.over_limit);
  begin(out, kDeviceFull);
  out->sample({}, all.refused.device_full);
  begin(out, kHostReserve);
  out->sample({}, snapshot.host_reserve);
  begin(out, kHostPromised);
  out->sample({}, snapshot.host_promised);
}

void loop(Exposition* out, const MetricsInput& all) {
  for (const Stated& one : kStated)
    if (std::string_view(one.name) == kLate) out->histogram(one.name, one.help, all.late);
  begin(out, kLatest);
  out->sample({}, all.latest);
}

void cards(Exposition* out, const MetricsInput& all) {
  begin(out, kCardInfo);
  for (const DeviceView& one : all.snapshot.devices) {
    out->sample({{"node", all.node},
                 {"device", one.uuid},
                 {"index", std::to_string(one.index)},
                 {"model", one.model},
                 {"pci", one.pci},
                 {"pool", one.pool},
                 {"numa", one.numa < 0 ? std::string() : std::to_string(one.numa)}},
                std::uint64_t{1});
  }
  for (const Family<Card>& family : kCards) {
    out->family(family.name, family.type, family.help);
    for (const DeviceView& one : all.snapshot.devices) {
      const auto foreign = all.foreign.find(one.index);
      const auto strangers = all.strangers.find(one.index);
      const Value value =
          family.value({one, foreign == all.foreign.end() ? Value() : Value(foreign->second),
                        strangers == all.strangers.end() ? nullptr : &strangers->second,
                        all.faulty.contains(one.index)});
      if (value) out->sample({{"node", all.node}, {"device", one.uuid}}, *value);
    }
  }
  begin(out, kFaults);
  for (const DeviceView& one : all.snapshot.devices) {
    const auto faults = all.faults.find(one.index);
    if (faults == all.faults.end()) continue;
    for (const auto& [xid, times] : faults->second)
      out->sample({{"node", all.node}, {"device", one.uuid}, {"xid", std::to_string(xid)}}, times);
  }
}

// Labels that identify the pod and container of a sample.
PodContainer podOf(const MetricsInput& all, const TenantView& tenant) {
  const auto pod = all.pods.find(tenant.id);
  return pod == all.pods.end() ? PodContainer{} : pod->second;
}

void tenants(Exposition* out, const MetricsInput& all) {
  begin(out, kTenantInfo);
  for (const TenantView& one : all.snapshot.tenants) {
    const PodContainer pod = podOf(all, one);
    out->sample({{"tenant", one.id},
                 {"name", one.name},
                 {"namespace", pod.namespace_name},
                 {"pod", pod.pod},
                 {"container", pod.container},
                 {"pod_uid", pod.uid},
                 {"priority", one.priority},
                 {"mode", one.mode},
                 {"backend", one.backend},
                 {"state", one.state},
                 {"memory", one.memory}},
                std::uint64_t{1});
  }
  begin(out, kTenantLabels);
  for (const TenantView& one : all.snapshot.tenants) {
    const auto labels = all.labels.find(one.id);
    if (labels == all.labels.end()) continue;
    metrics::LabelList list{{"tenant", one.id}};
    list.insert(list.end(), labels->second.begin(), labels->second.end());
    out->sample(list, std::uint64_t{1});
  }
  for (const Family<Whole>& family : kTenants) {
    out->family(family.name, family.type, family.help);
    for (const TenantView& one : all.snapshot.tenants) {
      const PodContainer pod = podOf(all, one);
      const auto tally = all.tallies.find(one.id);
      const Whole whole{one, tally == all.tallies.end() ? TenantCounters{} : tally->second};
      if (const Value value = family.value(whole)) {
        out->sample({{"tenant", one.id},
                     {"namespace", pod.namespace_name},
                     {"pod", pod.pod},
                     {"container", pod.container}},
                    *value);
      }
    }
  }
}

DeviceUsage billOf(const MetricsInput& all, const TenantView& tenant, const ShareView& share) {
  const auto bills = all.bills.find(tenant.id);
  if (bills == all.bills.end()) return {};
  const auto bill = bills->second.find(share.device);
  return bill == bills->second.end() ? DeviceUsage{} : bill->second;
}

void shares(Exposition* out, const MetricsInput& all) {
  for (const Family<Share>& family : kShares) {
    out->family(family.name, family.type, family.help);
    for (const TenantView& one : all.snapshot.tenants) {
      const PodContainer pod = podOf(all, one);
      for (const ShareView& share : one.shares) {
        if (const Value value = family.value({share, billOf(all, one, share)})) {
          out->sample({{"tenant", one.id},
                       {"device", share.uuid},
                       {"namespace", pod.namespace_name},
                       {"pod", pod.pod},
                       {"container", pod.container}},
                      *value);
        }
      }
    }
  }
}

void row(std::string* text, const char* name, const char* type, const char* help) {
  *text += std::string("| `") + name + "` | " + type + " | " + help + " |\n";
}

}  // namespace

std::string exposition(const MetricsInput& all, const metrics::FurtherNames& further) {
  Exposition out(further.deprecated);
  node(&out, all);
  loop(&out, all);
  cards(&out, all);
  tenants(&out, all);
  shares(&out, all);
  if (further.compat) addHamiFamilies(&out, all);
  return out.text();
}

std::string familiesTable() {
  std::string text = "| Name | Type | Meaning |\n|---|---|---|\n";
  for (const Stated& one : kStated) row(&text, one.name, one.type, one.help);
  for (const auto& one : kCards) row(&text, one.name, one.type, one.help);
  for (const auto& one : kTenants) row(&text, one.name, one.type, one.help);
  for (const auto& one : kShares) row(&text, one.name, one.type, one.help);
  return text;
}

}  // namespace divvy::agent
