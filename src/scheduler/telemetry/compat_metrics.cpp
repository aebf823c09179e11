#include "telemetry/compat_metrics.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace divvy::scheduler {
namespace {

using metrics::Exposition;

double percent(engine::Compute compute) {
  return static_cast<double>(compute.milli) / engine::kWholeDevice.milli * 100;
}

constexpr const char* kZone = "vGPU";
constexpr std::int32_t kMilliPerPercent = 10;

// One of HAMi's families of devices: its new name with new labels, the old ones, the value.
struct HamiDevices {
  const char *name, *old_name;
  bool with_cores;  // the cores that are given are a label, too
  bool old_type;    // the old one has the type
  double (*of)(const DeviceUsage&);
};

constexpr HamiDevices kHamiDevices[] = {
    {"hami_gpu_memory_limit_bytes", "GPUDeviceMemoryLimit", false, true,
     [](const DeviceUsage& one) { return static_cast<double>(one.memory.count); }},
    {"hami_gpu_core_limit_ratio", "GPUDeviceCoreLimit", false, true,
     [](const DeviceUsage& one) { return percent(one.compute); }},
    {"hami_gpu_memory_allocated_bytes", "GPUDeviceMemoryAllocated", true, true,
     [](const DeviceUsage& one) { return static_cast<double>(one.promised.count); }},
    {"hami_gpu_shared_count", "GPUDeviceSharedNum", false, true,
     [](const DeviceUsage& one) { return static_cast<double>(one.tenants); }},
    {"hami_gpu_core_allocated_ratio", "GPUDeviceCoreAllocated", false, true,
     [](const DeviceUsage& one) { return percent(one.promised_compute); }},
    {"hami_node_gpu_memory_allocated_ratio", "nodeGPUMemoryPercentage", false, false,
     [](const DeviceUsage& one) {
       const auto all = static_cast<double>(one.memory.count);
       return all > 0 ? static_cast<double>(one.promised.count) / all : 0;
     }},
};

void hamiDevices(Exposition* out, const std::vector<DeviceUsage>& all) {
  for (const HamiDevices& family : kHamiDevices) {
    for (const bool old : {false, true}) {
      out->family(old ? family.old_name : family.name, "gauge",
                  "Same meaning as in HAMi's scheduler");
      const char* node = old ? "nodeid" : "node";
      const char* uuid = old ? "deviceuuid" : "device_uuid";
      const char* index = old ? "deviceidx" : "device_index";
      const char* type = old ? "devicetype" : "device_type";
      const char* cores = old ? "devicecores" : "device_cores";
      for (const DeviceUsage& one : all) {
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

void hamiOverview(Exposition* out, const std::vector<DeviceUsage>& all) {
  for (const bool old : {false, true}) {
    out->family(old ? "nodeGPUOverview" : "hami_node_gpu_overview", "gauge",
                "Allocated and reserved memory in bytes, as HAMi's scheduler exports it");
    for (const DeviceUsage& one : all) {
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

void hamiShares(Exposition* out, const std::vector<AllocatedShare>& all) {
  for (const bool memory : {true, false}) {
    for (const bool old : {false, true}) {
      const char* name =
          memory ? "hami_vgpu_memory_allocated_bytes" : "hami_vgpu_core_allocated_ratio";
      const char* old_name = memory ? "vGPUMemoryAllocated" : "vGPUCoreAllocated";
      out->family(old ? old_name : name, "gauge", "Same meaning as in HAMi's scheduler");
      for (const AllocatedShare& one : all) {
        out->sample({{old ? "podnamespace" : "namespace", one.namespace_name},
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

// HAMi calls resources quotas here.
void hamiQuotas(Exposition* out, const std::vector<QuotaUsage>& all) {
  for (const bool old : {false, true}) {
    out->family(old ? "QuotaUsed" : "hami_resource_quota_used", "gauge",
                "Same meaning as in HAMi's scheduler");
    for (const QuotaUsage& one : all) {
      out->sample({{old ? "quotanamespace" : "namespace", one.namespace_name},
                   {old ? "quotaName" : "quota_name", one.resource},
                   {"limit", std::to_string(one.limit)},
                   {"zone", kZone}},
                  static_cast<double>(one.used));
    }
  }
  out->family("hami_resource_quota_limit", "gauge", "Same meaning as in HAMi's scheduler");
  for (const QuotaUsage& one : all)
    out->sample({{"namespace", one.namespace_name}, {"quota_name", one.resource}, {"zone", kZone}},
                static_cast<double>(one.limit));
}

// Of Volcano's scheduler, in MiB and percent. Source: Volcano,
// pkg/scheduler/api/devices/nvidia/vgpu.
struct VolcanoDevices {
  const char* name;
  double (*of)(const DeviceUsage&);
};

double mebibytes(Bytes bytes) {
  return static_cast<double>(bytes.count / mib(1).count);
}

constexpr VolcanoDevices kVolcanoDevices[] = {
    {"volcano_vgpu_device_memory_limit",
     [](const DeviceUsage& one) { return mebibytes(one.memory); }},
    {"volcano_vgpu_device_allocated_memory",
     [](const DeviceUsage& one) { return mebibytes(one.promised); }},
    {"volcano_vgpu_device_allocated_cores",
     [](const DeviceUsage& one) { return percent(one.promised_compute); }},
    {"volcano_vgpu_device_shared_number",
     [](const DeviceUsage& one) { return static_cast<double>(one.tenants); }},
};

void volcano(Exposition* out, const ClusterSample& seen) {
  constexpr const char* kHelp = "Same meaning as in Volcano's scheduler";
  for (const VolcanoDevices& family : kVolcanoDevices) {
    out->family(family.name, "gauge", kHelp);
    for (const DeviceUsage& one : seen.devices)
      out->sample({{"devID", one.uuid}, {"NodeName", one.node}}, family.of(one));
  }
  // It has no namespaces: pods of one name, and all their containers, count together.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<double, double>> pods;
  for (const AllocatedShare& one : seen.shares) {
    auto& [memory, cores] = pods[{one.uuid, one.node, one.pod}];
    memory += mebibytes(one.memory);
    cores += percent(one.compute);
  }
  for (const bool memory : {true, false}) {
    out->family(memory ? "volcano_vgpu_device_memory_allocation_for_a_certain_pod"
                       : "volcano_vgpu_device_core_allocation_for_a_certain_pod",
                "gauge", kHelp);
    for (const auto& [whose, held] : pods)
      out->sample({{"devID", std::get<0>(whose)},
                   {"NodeName", std::get<1>(whose)},
                   {"podName", std::get<2>(whose)}},
                  memory ? held.first : held.second);
  }
}

}  // namespace

void addCompatFamilies(Exposition* out, const ClusterSample& seen) {
  hamiDevices(out, seen.devices);
  hamiOverview(out, seen.devices);
  hamiShares(out, seen.shares);
  hamiQuotas(out, seen.quotas);
  volcano(out, seen);
}

}  // namespace divvy::scheduler
