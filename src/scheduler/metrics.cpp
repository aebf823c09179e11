#include "metrics.h"

#include <string>

namespace divvy::scheduler {
namespace {

using metrics::Exposition;

double ratio(engine::Compute compute) {
  return static_cast<double>(compute.milli) / engine::kWholeDevice.milli;
}
double percent(engine::Compute compute) {
  return ratio(compute) * 100;
}

void answers(Exposition* out, const Counts& counts) {
  out->histogram("divvy_scheduler_filter_seconds", "How long /filter took", counts.filter_seconds);
  out->family("divvy_scheduler_filters_total", "counter", "Answers of /filter");
  out->sample({{"answer", "placed"}}, counts.placed);
  out->sample({{"answer", "refused"}}, counts.refused);
  out->sample({{"answer", "passed"}}, counts.passed);
  out->sample({{"answer", "error"}}, counts.filter_errors);
  out->histogram("divvy_scheduler_bind_seconds", "How long /bind took", counts.bind_seconds);
  out->family("divvy_scheduler_binds_total", "counter", "Answers of /bind");
  out->sample({{"answer", "bound"}}, counts.bound);
  out->sample({{"answer", "refused"}}, counts.bind_refused);
  out->sample({{"answer", "uncertain"}}, counts.bind_uncertain);
  out->sample({{"answer", "not_reserved"}}, counts.not_reserved);
  out->histogram("divvy_scheduler_review_seconds", "How long /webhook took", counts.review_seconds);
  out->family("divvy_scheduler_reviews_total", "counter", "Answers of /webhook");
  out->sample({{"answer", "allowed"}}, counts.allowed);
  out->sample({{"answer", "denied"}}, counts.denied);
  out->sample({{"answer", "not_a_review"}}, counts.not_reviews);
}

void state(Exposition* out, const Counts& counts, const Seen& seen) {
  const auto one = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    out->family(name, type, help);
    out->sample({}, value);
  };
  one("divvy_scheduler_ready", "gauge", "Whether it knows the cluster and places pods",
      seen.ready ? 1 : 0);
  one("divvy_scheduler_waiting_pods", "gauge", "Pods that were refused and are looked at again",
      seen.waiting);
  one("divvy_scheduler_reservations_expired_total", "counter",
      "Reservations whose pods never came to bind", counts.expired);
  one("divvy_scheduler_kicks_total", "counter", "Waiting pods that had room, and were told so",
      counts.kicked);
  one("divvy_scheduler_labels_total", "counter", "Pods that were labelled for HAMi's monitor",
      counts.labelled);
  one("divvy_scheduler_locks_total", "counter", "Nodes that were locked for a vendor's agent",
      counts.locked);
  one("divvy_scheduler_locks_refused_total", "counter",
      "Bindings that were put off, for the node is locked for another pod", counts.lock_refused);
  out->family("divvy_scheduler_share_changes_total", "counter",
              "Changes of what running pods have, by what became of them");
  out->sample({{"result", "admitted"}}, counts.changes.admitted);
  out->sample({{"result", "done"}}, counts.changes.done);
  out->sample({{"result", "refused"}}, counts.changes.refused);
  const auto complaints = [&](const char* name, const char* help, const NoticeCounts& of) {
    out->family(name, "counter", help);
    out->sample({{"result", "noticed"}}, of.noticed);
    out->sample({{"result", "called-off"}}, of.called_off);
    out->sample({{"result", "evicted"}}, of.evicted);
  };
  complaints("divvy_scheduler_idle_pods_total",
             "Pods whose devices nobody used, by what became of them", counts.idle);
  complaints("divvy_scheduler_bypass_pods_total",
             "Pods that went around what limits them, by what became of them", counts.bypass);
  one("divvy_scheduler_platform_failures_total", "counter",
      "Times that a platform could not be told of an idle pod: it is not evicted then",
      counts.idle.unheard);
  one("divvy_scheduler_api_calls_total", "counter", "Calls to the API server", seen.api_calls);
  out->family("divvy_scheduler_unreadable_total", "counter",
              "Objects that were told of and not understood");
  out->sample({{"kind", "node"}}, counts.unreadable_nodes);
  out->sample({{"kind", "pod"}}, counts.unreadable_pods);
  out->sample({{"kind", "resourcequota"}}, counts.unreadable_quotas);
}

void devices(Exposition* out, const std::vector<DeviceUse>& all) {
  const auto each = [&](const char* name, const char* help, const auto& of) {
    out->family(name, "gauge", help);
    for (const DeviceUse& one : all)
      out->sample({{"node", one.node}, {"device", one.uuid}}, of(one));
  };
  out->family("divvy_device_info", "gauge", "1 for every device that is known");
  for (const DeviceUse& one : all) {
    out->sample({{"node", one.node},
                 {"device", one.uuid},
                 {"index", std::to_string(one.index)},
                 {"model", one.model},
                 {"kind", one.kind},
                 {"pool", one.pool}},
                std::uint64_t{1});
  }
  each("divvy_device_healthy", "Whether it may be given to anybody",
       [](const DeviceUse& one) { return std::uint64_t{one.healthy ? 1u : 0u}; });
  each("divvy_device_memory_bytes", "Memory that may be promised",
       [](const DeviceUse& one) { return one.memory.count; });
  each("divvy_device_memory_promised_bytes", "Of it, what is promised, reservations included",
       [](const DeviceUse& one) { return one.promised.count; });
  each("divvy_device_compute_ratio", "Compute that may be promised; 1 is a whole device",
       [](const DeviceUse& one) { return ratio(one.compute); });
  each("divvy_device_compute_promised_ratio", "Of it, what is promised",
       [](const DeviceUse& one) { return ratio(one.promised_compute); });
  each("divvy_device_slots", "Tenants at most",
       [](const DeviceUse& one) { return std::uint64_t{one.slots}; });
  each("divvy_device_tenants", "Tenants",
       [](const DeviceUse& one) { return std::uint64_t{one.tenants}; });
}

void shares(Exposition* out, const std::vector<HeldShare>& all) {
  const auto each = [&](const char* name, const char* help, const auto& of) {
    out->family(name, "gauge", help);
    for (const HeldShare& one : all) {
      out->sample({{"namespace", one.space},
                   {"pod", one.pod},
                   {"container_index", std::to_string(one.container)},
                   {"node", one.node},
                   {"device", one.uuid}},
                  of(one));
    }
  };
  each("divvy_pod_device_memory_bytes", "Memory that a container was given",
       [](const HeldShare& one) { return one.memory.count; });
  each("divvy_pod_device_compute_ratio", "Compute that it was given; 0: what others leave",
       [](const HeldShare& one) { return ratio(one.compute); });
}

void quotas(Exposition* out, const std::vector<QuotaUse>& all) {
  for (const bool used : {false, true}) {
    out->family(used ? "divvy_quota_used" : "divvy_quota_limit", "gauge",
                used ? "Of it, what pods hold, reservations included"
                     : "What a namespace may hold, in the resource's own units");
    for (const QuotaUse& one : all) {
      out->sample({{"namespace", one.space}, {"resource", one.resource}, {"quota", one.quota}},
                  static_cast<double>(used ? one.used : one.limit));
    }
  }
}

constexpr const char* kZone = "vGPU";
constexpr std::int32_t kMilliPerPercent = 10;

// One of HAMi's families of devices: its new name with new labels, the old ones, what it is.
struct HamiDevices {
  const char *name, *old_name;
  bool with_cores;  // the cores that are given are a label, too
  bool old_type;    // the old one has the type
  double (*of)(const DeviceUse&);
};

constexpr HamiDevices kHamiDevices[] = {
    {"hami_gpu_memory_limit_bytes", "GPUDeviceMemoryLimit", false, true,
     [](const DeviceUse& one) { return static_cast<double>(one.memory.count); }},
    {"hami_gpu_core_limit_ratio", "GPUDeviceCoreLimit", false, true,
     [](const DeviceUse& one) { return percent(one.compute); }},
    {"hami_gpu_memory_allocated_bytes", "GPUDeviceMemoryAllocated", true, true,
     [](const DeviceUse& one) { return static_cast<double>(one.promised.count); }},
    {"hami_gpu_shared_count", "GPUDeviceSharedNum", false, true,
     [](const DeviceUse& one) { return static_cast<double>(one.tenants); }},
    {"hami_gpu_core_allocated_ratio", "GPUDeviceCoreAllocated", false, true,
     [](const DeviceUse& one) { return percent(one.promised_compute); }},
    {"hami_node_gpu_memory_allocated_ratio", "nodeGPUMemoryPercentage", false, false,
     [](const DeviceUse& one) {
       const auto all = static_cast<double>(one.memory.count);
       return all > 0 ? static_cast<double>(one.promised.count) / all : 0;
     }},
};

void hamiDevices(Exposition* out, const std::vector<DeviceUse>& all) {
  for (const HamiDevices& family : kHamiDevices) {
    for (const bool old : {false, true}) {
      out->family(old ? family.old_name : family.name, "gauge", "As HAMi's scheduler has it");
      const char* node = old ? "nodeid" : "node";
      const char* uuid = old ? "deviceuuid" : "device_uuid";
      const char* index = old ? "deviceidx" : "device_index";
      const char* type = old ? "devicetype" : "device_type";
      const char* cores = old ? "devicecores" : "device_cores";
      for (const DeviceUse& one : all) {
        const std::string at = std::to_string(one.index);
        const std::string used = std::to_string(one.promised_compute.milli / kMilliPerPercent);
        const auto sample = [&](metrics::Labels labels) { out->sample(labels, family.of(one)); };
        if (family.with_cores) {
          sample({{node, one.node},
                  {uuid, one.uuid},
                  {index, at},
                  {type, one.model},
                  {cores, used},
                  {"zone", kZone}});
        } else if (old && !family.old_type) {
          sample({{node, one.node}, {uuid, one.uuid}, {index, at}, {"zone", kZone}});
        } else {
          sample({{node, one.node},
                  {uuid, one.uuid},
                  {index, at},
                  {type, one.model},
                  {"zone", kZone}});
        }
      }
    }
  }
}

void hamiOverview(Exposition* out, const std::vector<DeviceUse>& all) {
  for (const bool old : {false, true}) {
    out->family(old ? "nodeGPUOverview" : "hami_node_gpu_overview", "gauge",
                "As HAMi's scheduler has it: bytes promised");
    for (const DeviceUse& one : all) {
      const std::string mebibytes = std::to_string(one.memory.count / mib(1).count);
      out->sample({{old ? "nodeid" : "node", one.node},
                   {old ? "deviceuuid" : "device_uuid", one.uuid},
                   {old ? "deviceidx" : "device_index", std::to_string(one.index)},
                   {old ? "devicetype" : "device_type", one.model},
                   {old ? "devicecores" : "device_cores",
                    std::to_string(one.promised_compute.milli / kMilliPerPercent)},
                   {old ? "devicememorylimit" : "device_memory_limit", mebibytes},
                   {"zone", kZone}},
                  one.promised.count);
    }
  }
}

void hamiShares(Exposition* out, const std::vector<HeldShare>& all) {
  for (const bool memory : {true, false}) {
    for (const bool old : {false, true}) {
      const char* name =
          memory ? "hami_vgpu_memory_allocated_bytes" : "hami_vgpu_core_allocated_ratio";
      const char* old_name = memory ? "vGPUMemoryAllocated" : "vGPUCoreAllocated";
      out->family(old ? old_name : name, "gauge", "As HAMi's scheduler has it");
      for (const HeldShare& one : all) {
        out->sample({{old ? "podnamespace" : "namespace", one.space},
                     {old ? "nodename" : "node", one.node},
                     {old ? "podname" : "pod", one.pod},
                     {old ? "containeridx" : "container_index", std::to_string(one.container)},
                     {old ? "deviceuuid" : "device_uuid", one.uuid},
                     {"zone", kZone}},
                    memory ? static_cast<double>(one.memory.count) : percent(one.compute));
      }
    }
  }
}

// Resources are what HAMi calls quotas here.
void hamiQuotas(Exposition* out, const std::vector<QuotaUse>& all) {
  for (const bool old : {false, true}) {
    out->family(old ? "QuotaUsed" : "hami_resource_quota_used", "gauge",
                "As HAMi's scheduler has it");
    for (const QuotaUse& one : all) {
      out->sample({{old ? "quotanamespace" : "namespace", one.space},
                   {old ? "quotaName" : "quota_name", one.resource},
                   {"limit", std::to_string(one.limit)},
                   {"zone", kZone}},
                  static_cast<double>(one.used));
    }
  }
  out->family("hami_resource_quota_limit", "gauge", "As HAMi's scheduler has it");
  for (const QuotaUse& one : all)
    out->sample({{"namespace", one.space}, {"quota_name", one.resource}, {"zone", kZone}},
                static_cast<double>(one.limit));
}

}  // namespace

std::string exposition(const Counts& counts, const Seen& seen, bool hami) {
  Exposition out;
  state(&out, counts, seen);
  answers(&out, counts);
  expose(&out, counts.preemption);
  devices(&out, seen.devices);
  shares(&out, seen.shares);
  quotas(&out, seen.quotas);
  if (hami) {
    hamiDevices(&out, seen.devices);
    hamiOverview(&out, seen.devices);
    hamiShares(&out, seen.shares);
    hamiQuotas(&out, seen.quotas);
  }
  return out.text();
}

}  // namespace divvy::scheduler
