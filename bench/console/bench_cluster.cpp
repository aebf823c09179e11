#include "bench_cluster.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/json.hpp>

namespace divvy::bench {
namespace {

constexpr std::size_t kDevicesOfNode = 8;
constexpr std::size_t kPodsOfOwner = 5;
constexpr std::size_t kQueues = 20;
constexpr std::size_t kEvents = 1000;
constexpr std::int64_t kBegan = 1'764'000'000'000;

double threadCpuMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

std::string numbered(const char* name, std::size_t index) {
  return name + std::to_string(index);
}

}  // namespace

double nowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

std::string spaceName(std::size_t index) {
  return numbered("space-", index);
}

void ReadingTimes::begin(double at_ms) {
  const std::lock_guard lock(mutex_);
  if (last_end_ms_ > 0) between_.push_back(at_ms - last_end_ms_);
}

void ReadingTimes::end(double at_ms, double cpu_ms) {
  const std::lock_guard lock(mutex_);
  last_end_ms_ = at_ms;
  cpu_ms_ += cpu_ms;
}

std::vector<double> ReadingTimes::between() const {
  const std::lock_guard lock(mutex_);
  return between_;
}

double ReadingTimes::sourceCpuMs() const {
  const std::lock_guard lock(mutex_);
  return cpu_ms_;
}

BenchCluster::BenchCluster(const ClusterSize& size, ReadingTimes& times)
    : size_(size), times_(times) {
  for (const char* name : {"nodes", "pods", "queues", "events"}) {
    console::ClusterCollection& one = reading_.collections.emplace_back();
    one.name = name;
    one.reached = true;
  }
  addNodes();
  for (std::size_t i = 0; i < kQueues; ++i) {
    kube::Queue& queue = reading_.queues.emplace_back();
    queue.meta.name = numbered("queue-", i);
    queue.guarantee = {{"*", 8000, {}}};
    queue.status.used = {{"*", 4000, {}}};
  }
  for (std::size_t i = 0; i < size_.pods; ++i) addPod(i);
  for (std::size_t i = 0; i < kEvents; ++i)
    reading_.events.push_back({numbered("event-", i), spaceName(i % size_.namespaces),
                               numbered("pod-", i), "Scheduled", "assigned to a node",
                               "divvy-scheduler", kBegan + static_cast<std::int64_t>(i)});
  changed_ms_ = nowMs();
}

void BenchCluster::addNodes() {
  for (std::size_t i = 0; i < size_.nodes; ++i) {
    reading_.nodes.push_back({numbered("node-", i), console::ClusterNodeState::kReady, ""});
    for (std::size_t index = 0; index < kDevicesOfNode; ++index) {
      scheduler::DeviceUsage& device = reading_.devices.emplace_back();
      device.node = reading_.nodes.back().name;
      device.index = index;
      device.uuid = "GPU-" + std::to_string(i) + '-' + std::to_string(index);
      device.model = i % 2 == 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-40GB";
      device.kind = "nvidia";
      device.memory = gib(80);
      device.compute = engine::kWholeDevice;
      device.slots = 10;
      device.pool = i % 2 == 0 ? "new" : "old";
      reading_.device_use[device.node + '/' + device.uuid] = {gib(40).count, 50.0};
    }
  }
  reading_.pools = {{"new", {}}, {"old", {}}};
  reading_.agents = {size_.nodes, size_.nodes, ""};
}

void BenchCluster::addPod(std::size_t index) {
  console::ClusterPodView pod;
  pod.namespace_name = spaceName(index % size_.namespaces);
  pod.name = numbered("pod-", index);
  pod.owner = "Deployment/" + numbered("app-", index / kPodsOfOwner);
  pod.queue = numbered("queue-", index % kQueues);
  pod.team = numbered("team-", index % size_.namespaces);
  pod.containers = {"main"};
  pod.images = {"registry.example/team/serve@sha256:" + std::to_string(index)};
  pod.created_ms = kBegan + static_cast<std::int64_t>(index);
  if (index % 10 == 0) {
    pod.waiting = console::WaitingKind::kRoom;
    pod.reason = "no device has 79 GiB free";
    pod.memory = "79GiB";
    pod.devices = 1;
  } else {
    pod.state = console::ClusterPodState::kRunning;
    scheduler::DeviceUsage& device = reading_.devices[index % reading_.devices.size()];
    pod.node = device.node;
    device.promised = device.promised + gib(20);
    device.promised_compute.milli += 250;
    ++device.tenants;
    reading_.shares.push_back(
        {pod.namespace_name, pod.name, device.node, device.uuid, 0, gib(20), {250}});
    for (const std::string& of : {std::string(), device.uuid})
      reading_.share_use[{pod.namespace_name, pod.name, "main", of}] = {
          gib(10).count, gib(10).count, 0u, 200.0, 0u};
  }
  reading_.pods.push_back(std::move(pod));
}

void BenchCluster::advance(double seconds) {
  const auto changes = static_cast<std::size_t>(seconds * static_cast<double>(size_.changes_per_s));
  for (std::size_t i = 0; i < std::min(changes, size_.pods); ++i) {
    console::ClusterPodView& pod = reading_.pods[rng_.below(reading_.pods.size())];
    if (pod.state == console::ClusterPodState::kWaiting) continue;
    pod.state = pod.state == console::ClusterPodState::kRunning
                    ? console::ClusterPodState::kPending
                    : console::ClusterPodState::kRunning;
    reading_.share_use[{pod.namespace_name, pod.name, "main", ""}].memory_used =
        gib(1).count * rng_.below(20);
  }
}

console::ClusterReading BenchCluster::read() {
  const double begin = nowMs();
  const double cpu = threadCpuMs();
  times_.begin(begin);
  advance((begin - changed_ms_) / 1e3);
  changed_ms_ = begin;
  console::ClusterReading copy = reading_;
  times_.end(nowMs(), threadCpuMs() - cpu);
  return copy;
}

Result<boost::json::object> BenchCluster::explain(const std::string&, const std::string&) {
  return boost::json::object();
}

Result<boost::json::array> BenchCluster::plan(const std::string&, const std::string&,
                                              const std::string&) {
  return boost::json::array();
}

Result<console::ClusterChangeOutcome> BenchCluster::change(const console::ClusterChange&) {
  return Error{ErrorCode::kUnsupported, "nothing can be changed here"};
}

Result<console::Viewer> BenchReviews::authenticate(const std::string& token) {
  console::Viewer viewer;
  viewer.user = viewer.uid = viewer.token = token;
  return viewer;
}

Result<console::ViewerScope> BenchReviews::scopeOf(const console::Viewer& viewer,
                                                   const std::vector<std::string>&) {
  if (viewer.user == "whole") return console::wholeScope();
  console::ViewerScope scope;
  scope.pods.names = scope.events.names = {viewer.user};
  return scope;
}

}  // namespace divvy::bench
