#include "cluster_of_nodes.h"

#include <cstdint>
#include <utility>

#include "fuzz_input.h"
#include "kube/registration.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kNever{std::int64_t{1} << 60};
constexpr unsigned kOccupied = 10;  // one node of so many
constexpr unsigned kTenants = 4;    // on each of these

kube::Node nodeOf(const std::string& name, unsigned number) {
  kube::Node node;
  node.meta.name = node.meta.uid = name;
  node.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  std::vector<kube::RegisteredDevice> devices;
  for (unsigned i = 0; i < 1 + number % 8; ++i) {
    kube::RegisteredDevice& device = devices.emplace_back();
    device.id = "GPU-" + name + '-' + std::to_string(i);
    device.index = i;
    device.count = 10;
    device.mebibytes = 8192 * (1 + number / 8 % 8) + 64 * i * (number % 3);
    device.cores = 100;
    device.type = number % 2 == 0 ? "NVIDIA H100" : "NVIDIA A10";
    device.numa = i / 4;
    device.healthy = number % 50 != 49;
  }
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(devices);
  return node;
}

kube::Pod tenantOf(const std::string& node, unsigned number, unsigned which) {
  kube::Pod pod;
  pod.meta.name = pod.meta.uid = node + "-p" + std::to_string(which);
  pod.meta.namespace_name = "s";
  pod.priority = which % 2;
  pod.phase = kube::PodPhase::kRunning;
  pod.placed_at = 1;
  kube::PodContainer& container = pod.containers.emplace_back();
  container.name = "c";
  container.requests = {{"cpu", "2"}, {"memory", "4Gi"}};
  container.limits = {{"nvidia.com/gpu", "1"},
                      {"nvidia.com/gpumem", std::to_string(1000 + 700 * which + number)},
                      {"nvidia.com/gpucores", std::to_string(10 + 5 * which)}};
  return pod;
}

}  // namespace

ClusterOfNodes::ClusterOfNodes()
    : catalog_(*vendors::Catalog::of(vendors::builtIn())), cache_(catalog_, {}) {
  texts_.reserve(kNodes);
  for (unsigned number = 0; number < kNodes; ++number) {
    const std::string& name = texts_.emplace_back("n" + std::to_string(number));
    need(bool(cache_.setNode(nodeOf(name, number))), "a node");
    names_.push_back(name);
    if (number % kOccupied == 0) occupy(name, number);
  }
}

void ClusterOfNodes::occupy(const std::string& node, unsigned number) {
  for (unsigned which = 0; which < kTenants; ++which) {
    kube::Pod pod = tenantOf(node, number, which);
    const std::vector<std::string_view> there{node};
    const Result<FilterResult> choice = cache_.filterAndReserve(pod, there, kNever);
    if (!choice || !choice->node) {
      forget(pod);
      continue;
    }
    Result<BindPlan> assigned = cache_.assume(pod.meta.uid, node, 1);
    need(assigned.has_value(), "a pod that is bound");
    cache_.finishBinding(pod.meta.uid, BindOutcome::kBound);
    pod.node = node;
    pod.meta.annotations = assigned->annotations;
    need(cache_.setPod(pod) && pods_.set(pod), "a pod that runs");
  }
}

kube::Pod ClusterOfNodes::fresh(kube::Pod pod) {
  pod.meta.uid = "asked-" + std::to_string(++asked_);
  pod.node.clear();
  return pod;
}

void ClusterOfNodes::forget(const kube::Pod& pod) {
  cache_.unreserve(pod.meta.uid);
  cache_.removePod(pod.meta.uid);
}

}  // namespace divvy::scheduler
