// What Prometheus is told of devices and pods, in our names and in HAMi's.
#include "telemetry/metrics.h"

#include "public_names/public_names.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "kube/registration.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

// One node with two devices, and a pod with two containers on the first.
ClusterSample seen() {
  const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache cache(catalog, {});
  kube::Node node;
  node.meta.name = "a";
  std::vector<kube::RegisteredDevice> devices(2);
  for (std::size_t at = 0; at < devices.size(); ++at) {
    devices[at].id = "GPU-" + std::to_string(at);
    devices[at].index = static_cast<std::uint32_t>(at);
    devices[at].count = 10;
    devices[at].mebibytes = 8000;
    devices[at].cores = 100;
    devices[at].type = "NVIDIA L4";
    devices[at].healthy = at == 0;
  }
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(devices);
  EXPECT_TRUE(cache.setNode(node));
  kube::Pod pod;
  pod.meta.name = "p";
  pod.meta.namespace_name = "lab";
  pod.meta.uid = "u";
  kube::PodContainer container;
  container.limits = {
      {"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "2000"}, {"nvidia.com/gpucores", "30"}};
  pod.containers = {container, container};
  const std::vector<std::string_view> names{"a"};
  EXPECT_TRUE(cache.filterAndReserve(pod, names, {1000})->node);
  ClusterSample all;
  all.ready = true;
  all.devices = cache.nodes().devicesOf("a");
  all.shares = cache.pods().shares();
  EXPECT_TRUE(cache.nodes().devicesOf("b").empty());
  // What is given back is told of no more.
  cache.expire({1000});
  EXPECT_TRUE(cache.pods().shares().empty());
  return all;
}

void expectLines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    EXPECT_NE(text.find(line + '\n'), std::string::npos) << line << '\n' << text;
}

TEST(SchedulerMetrics, DevicesAndPods_SamplesAreWritten) {
  Counters counts;
  counts.placed = 3;
  const std::string text = exposition(counts, seen(), {});
  expectLines(text,
              {"divvy_scheduler_ready 1", "divvy_scheduler_filters_total{answer=\"placed\"} 3",
               "divvy_device_info{node=\"a\",device=\"GPU-1\",index=\"1\",model=\"NVIDIA L4\","
               "kind=\"NVIDIA\",pool=\"\"} 1",
               "divvy_device_schedulable{node=\"a\",device=\"GPU-1\"} 0",
               "divvy_device_allocatable_memory_bytes{node=\"a\",device=\"GPU-0\"} 8388608000",
               "divvy_device_allocated_memory_bytes{node=\"a\",device=\"GPU-0\"} 4194304000",
               "divvy_device_allocated_compute_ratio{node=\"a\",device=\"GPU-0\"} 0.6",
               "divvy_device_allocated_tenants{node=\"a\",device=\"GPU-0\"} 2",
               "divvy_pod_device_memory_bytes{namespace=\"lab\",pod=\"p\",container_index=\"1\","
               "node=\"a\",device=\"GPU-0\"} 2097152000"});
  EXPECT_EQ(text.find("hami"), std::string::npos);
}

// Names, labels and units: facts on the incumbent's control plane, 5.1.
TEST(SchedulerMetrics, LegacyNames_SameValues) {
  const std::string text = exposition({}, seen(), {.compat = true});
  expectLines(
      text,
      {"hami_gpu_memory_limit_bytes{node=\"a\",device_uuid=\"GPU-0\",device_index=\"0\","
       "device_type=\"NVIDIA L4\",zone=\"vGPU\"} 8388608000",
       "GPUDeviceMemoryAllocated{nodeid=\"a\",deviceuuid=\"GPU-0\",deviceidx=\"0\","
       "devicetype=\"NVIDIA L4\",devicecores=\"60\",zone=\"vGPU\"} 4194304000",
       "hami_gpu_shared_count{node=\"a\",device_uuid=\"GPU-0\",device_index=\"0\","
       "device_type=\"NVIDIA L4\",zone=\"vGPU\"} 2",
       "nodeGPUMemoryPercentage{nodeid=\"a\",deviceuuid=\"GPU-0\",deviceidx=\"0\","
       "zone=\"vGPU\"} 0.5",
       "hami_node_gpu_overview{node=\"a\",device_uuid=\"GPU-0\",device_index=\"0\","
       "device_type=\"NVIDIA L4\",device_cores=\"60\",device_memory_limit=\"8000\","
       "zone=\"vGPU\"} 4194304000",
       "vGPUCoreAllocated{podnamespace=\"lab\",nodename=\"a\",podname=\"p\",containeridx=\"1\","
       "deviceuuid=\"GPU-0\",zone=\"vGPU\"} 30",
       "volcano_vgpu_device_memory_limit{devID=\"GPU-0\",NodeName=\"a\"} 8000",
       "volcano_vgpu_device_allocated_memory{devID=\"GPU-0\",NodeName=\"a\"} 4000",
       "volcano_vgpu_device_allocated_cores{devID=\"GPU-0\",NodeName=\"a\"} 60",
       "volcano_vgpu_device_shared_number{devID=\"GPU-0\",NodeName=\"a\"} 2",
       "volcano_vgpu_device_core_allocation_for_a_certain_pod{devID=\"GPU-0\",NodeName=\"a\","
       "podName=\"p\"} 60"});
  EXPECT_EQ(exposition({}, seen(), {}).find("volcano_"), std::string::npos);
  // A family is one block.
  std::set<std::string> families;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) != 0) continue;
    EXPECT_TRUE(families.insert(line).second) << line;
  }
  EXPECT_GT(families.size(), 20u);
}

// Agents' new names are none of the scheduler's, old or new: tests/prometheus, tests/public_names.
TEST(SchedulerMetrics, DeprecatedNames_EachOldFamilyIsWritten) {
  const std::string text = exposition({}, seen(), {.deprecated = true});
  const std::string present = exposition({}, seen(), {});
  std::size_t renamed = 0;
  for (const auto& [kind, old_name, name, added_label] : public_names::renamedNames()) {
    if (kind != public_names::NameKind::kSchedulerMetric) continue;
    const std::string type = "# TYPE " + std::string(old_name) + ' ';
    EXPECT_NE(text.find(type), std::string::npos) << old_name;
    EXPECT_EQ(present.find(type), std::string::npos) << old_name;
    EXPECT_NE(present.find("# TYPE " + std::string(name) + ' '), std::string::npos) << name;
    ++renamed;
  }
  EXPECT_GT(renamed, 10u);
  EXPECT_NE(text.find("divvy_device_memory_bytes{node=\"a\",device=\"GPU-0\"} 8388608000"),
            std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
