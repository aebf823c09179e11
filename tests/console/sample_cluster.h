// A cluster of two nodes with four devices, three pods with shares and two that wait.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "console/cluster_source.h"

namespace divvy::console {

inline scheduler::DeviceUsage clusterDevice(const std::string& node, std::size_t index) {
  scheduler::DeviceUsage device;
  device.node = node;
  device.index = index;
  device.uuid = "GPU-" + node + '-' + std::to_string(index);
  device.model = "NVIDIA H100 80GB HBM3";
  device.kind = "nvidia";
  device.memory = gib(80);
  device.compute = engine::kWholeDevice;
  device.slots = 10;
  return device;
}

inline ClusterPodView clusterPod(const std::string& namespace_name, const std::string& name,
                                 ClusterPodState state = ClusterPodState::kRunning) {
  ClusterPodView pod;
  pod.namespace_name = namespace_name;
  pod.name = name;
  pod.team = namespace_name;
  pod.containers = {"main"};
  pod.images = {"serve:1"};
  pod.created_ms = 1'764'000'000'000;
  pod.state = state;
  return pod;
}

// Gives the pod a share of the device, of one of its containers.
inline void giveShare(ClusterReading& reading, ClusterPodView& pod, std::size_t device,
                      std::uint64_t gibibytes, std::int32_t milli, std::size_t container = 0) {
  scheduler::DeviceUsage& on = reading.devices[device];
  pod.node = on.node;
  on.promised = on.promised + gib(gibibytes);
  on.promised_compute.milli += milli;
  ++on.tenants;
  reading.shares.push_back(
      {pod.namespace_name, pod.name, on.node, on.uuid, container, gib(gibibytes), {milli}});
}

inline std::vector<ClusterCollection> readCollections() {
  std::vector<ClusterCollection> all;
  for (const char* name : {"nodes", "pods", "queues"}) {
    ClusterCollection& one = all.emplace_back();
    one.name = name;
    one.reached = true;
  }
  return all;
}

inline ClusterReading sampleCluster() {
  ClusterReading reading;
  reading.collections = readCollections();
  for (const char* node : {"gpu-1", "gpu-2"}) {
    reading.nodes.push_back({node, ClusterNodeState::kReady, ""});
    for (std::size_t index = 0; index < 2; ++index)
      reading.devices.push_back(clusterDevice(node, index));
  }
  for (scheduler::DeviceUsage& device : reading.devices) device.pool = "all";
  reading.pools = {{"all", {}}};
  ClusterPodView serve = clusterPod("lab", "serve-1");
  serve.owner = "Deployment/serve";
  serve.queue = "research";
  serve.served_model = "llama";
  serve.model_source = "argument --model";
  giveShare(reading, serve, 0, 40, 500);
  ClusterPodView train = clusterPod("ml", "train-0", ClusterPodState::kPending);
  train.containers = {"main", "side"};
  train.images = {"train:2", "side:3"};
  giveShare(reading, train, 0, 20, 250);
  giveShare(reading, train, 1, 80, 1000);
  giveShare(reading, train, 1, 0, 0, 1);
  ClusterPodView ending = clusterPod("ml", "old", ClusterPodState::kEnding);
  giveShare(reading, ending, 2, 10, 0);
  ClusterPodView first = clusterPod("lab", "serve-2", ClusterPodState::kWaiting);
  first.owner = "Deployment/serve";
  first.queue = "research";
  first.waiting = WaitingKind::kRoom;
  first.reason = "no device has 79 GiB free";
  first.memory = "79GiB";
  first.devices = 1;
  ClusterPodView second = clusterPod("ml", "wrong", ClusterPodState::kWaiting);
  second.waiting = WaitingKind::kNeverFits;
  second.reason = "no node has such devices";
  reading.pods = {serve, train, ending, first, second};
  kube::Queue queue;
  queue.meta.name = "research";
  queue.namespaces = {"lab"};
  queue.guarantee = {{"*", 1000, {}}};
  queue.status.used = {{"*", 500, {}}};
  queue.status.running = 1;
  reading.queues = {queue};
  reading.events = {{"e-1", "lab", "serve-2", "FailedScheduling", "0/2 nodes", "divvy-scheduler",
                     1'764'000'000'000}};
  return reading;
}

}  // namespace divvy::console
