#include "telemetry/hami_metrics.h"

#include <optional>
#include <string>

namespace divvy::agent {
namespace {

using metrics::Exposition;
using Value = std::optional<double>;

constexpr const char* kZone = "vGPU";  // a label of all of HAMi's metrics
constexpr const char* kHelp = "Same meaning as in HAMi's monitor";

struct OfCards {
  const char *name, *old_name;
  Value (*value)(const DeviceView&);
};

constexpr OfCards kCards[] = {
    {"hami_host_gpu_memory_used_bytes", "HostGPUMemoryUsage",
     [](const DeviceView& card) -> Value {
       // The driver did not answer.
       if (card.used == 0 && card.utilisation < 0) return std::nullopt;
       return static_cast<double>(card.used);
     }},
    // In percent, although the name is ratio.
    {"hami_host_gpu_utilization_ratio", "HostCoreUtilization",
     [](const DeviceView& card) -> Value {
       if (card.utilisation < 0) return std::nullopt;
       return card.utilisation;
     }},
};

struct OfContainers {
  const char *name, *old_name;
  Value (*value)(const TenantView&, const ShareView&);
};

constexpr OfContainers kContainers[] = {
    {"hami_vgpu_memory_used_bytes", "vGPU_device_memory_usage_in_bytes",
     [](const TenantView&, const ShareView& share) -> Value {
       return static_cast<double>(share.used);
     }},
    {"hami_vgpu_memory_limit_bytes", "vGPU_device_memory_limit_in_bytes",
     [](const TenantView&, const ShareView& share) -> Value {
       return static_cast<double>(share.limit);
     }},
    {"hami_container_device_memory_bytes", "Device_memory_desc_of_container",
     [](const TenantView&, const ShareView& share) -> Value {
       return static_cast<double>(share.used);
     }},
    {"hami_container_device_utilization_ratio", "Device_utilization_desc_of_container",
     [](const TenantView&, const ShareView& share) -> Value {
       if (share.utilisation < 0) return std::nullopt;
       return share.utilisation;
     }},
    {"hami_container_last_kernel_elapsed_seconds", "Device_last_kernel_of_container",
     [](const TenantView& tenant, const ShareView&) -> Value {
       if (!tenant.idle_known) return std::nullopt;
       return static_cast<double>(tenant.idle_s);
     }},
};

void cards(Exposition* out, const MetricsInput& all, const OfCards& family, bool old) {
  out->family(old ? family.old_name : family.name, "gauge", kHelp);
  for (const DeviceView& one : all.snapshot.devices) {
    const Value value = family.value(one);
    if (!value) continue;
    out->sample({{old ? "nodeid" : "node", all.node},
                 {old ? "deviceidx" : "device_index", std::to_string(one.index)},
                 {old ? "deviceuuid" : "device_uuid", one.uuid},
                 // HAMi's monitor, unlike its scheduler, puts the vendor before the model.
                 {old ? "devicetype" : "device_type", "NVIDIA-" + one.model},
                 {"zone", kZone}},
                *value);
  }
}

void container(Exposition* out, const OfContainers& family, bool old, const TenantView& tenant,
               const PodContainer& pod) {
  for (std::size_t at = 0; at < tenant.shares.size(); ++at) {
    const ShareView& share = tenant.shares[at];
    const Value value = family.value(tenant, share);
    if (!value) continue;
    out->sample({{old ? "podnamespace" : "namespace", pod.namespace_name},
                 {old ? "podname" : "pod", pod.pod},
                 {old ? "ctrname" : "container", pod.container},
                 {old ? "vdeviceid" : "vdevice_index", std::to_string(at)},
                 {old ? "deviceuuid" : "device_uuid", share.uuid},
                 {"zone", kZone}},
                *value);
  }
}

}  // namespace

void addHamiFamilies(Exposition* out, const MetricsInput& all) {
  for (const bool old : {false, true}) {
    for (const OfCards& family : kCards) cards(out, all, family, old);
    for (const OfContainers& family : kContainers) {
      out->family(old ? family.old_name : family.name, "gauge", kHelp);
      for (const TenantView& tenant : all.snapshot.tenants)
        if (const auto pod = all.pods.find(tenant.id); pod != all.pods.end())
          container(out, family, old, tenant, pod->second);
    }
  }
}

}  // namespace divvy::agent
