#include "day/day_clusters.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "day/series.h"

namespace divvy::simulator {
namespace {

constexpr engine::Instant kNever{INT64_MAX};
// Nothing but cards ever runs out.
constexpr std::int64_t kEndlessCpu = std::int64_t{1} << 40;
constexpr std::int32_t kPerPercent = 10;

engine::RequestId idOf(std::size_t pod) {
  return engine::RequestId(std::to_string(pod));
}

std::size_t podOf(const engine::RequestId& id) {
  std::size_t pod = 0;
  std::from_chars(id.text.data(), id.text.data() + id.text.size(), pod);
  return pod;
}

std::int64_t rankOf(Urgency urgency) {
  return -static_cast<std::int64_t>(urgency);
}

// How much of each hour it is at work: then it uses what it asks for. A batch job always is.
engine::UsageByHour expectedOf(const DayWorkload& workload) {
  const DayShape shape(workload.duty);
  engine::UsageByHour daily;
  for (std::size_t hour = 0; hour < engine::kHours; ++hour) {
    const double busy = shape.at(static_cast<double>(hour) + 0.5) / 100 / shape.rate();
    const double part = workload.kind == PodKind::kBatch ? 1 : std::min(busy, kMaxBusy);
    daily.permille[hour] = static_cast<std::uint16_t>(engine::kAllOfIt * part + 0.5);
  }
  return daily;
}

}  // namespace

Result<DayClusters> DayClusters::of(const Scenario& scenario, std::uint32_t overcommit,
                                    std::uint64_t seed, const engine::UsageByHourPolicy& daily) {
  DayClusters clusters;
  clusters.overcommit_ = overcommit;
  const bool by_day = daily.ties || daily.avoid_above > 0;
  for (const DayWorkload& workload : scenario.workloads) {
    if (by_day) clusters.daily_[workload.name] = expectedOf(workload);
  }
  for (std::size_t i = 0; i < scenario.clusters.size(); ++i) {
    engine::Config config{scenario.sharing.policy, seed};
    config.daily = daily;
    clusters.engines_.emplace_back(config);
    clusters.memory_.push_back(scenario.clusters[i].gpu_memory);
    const Result<void> added = clusters.addNodes(scenario, i);
    if (!added) return added.error();
  }
  clusters.by_price_.resize(scenario.clusters.size());
  std::iota(clusters.by_price_.begin(), clusters.by_price_.end(), 0u);
  std::stable_sort(clusters.by_price_.begin(), clusters.by_price_.end(),
                   [&](std::size_t a, std::size_t b) {
                     return scenario.clusters[a].price < scenario.clusters[b].price;
                   });
  return clusters;
}

Result<void> DayClusters::addNodes(const Scenario& scenario, std::size_t cluster) {
  const Cluster& described = scenario.clusters[cluster];
  for (std::uint32_t n = 0; n < described.nodes; ++n) {
    engine::Node node;
    node.name = engine::NodeName(described.name + "/" + std::to_string(n));
    node.cpu = {kEndlessCpu};
    node.host_reserve = described.host_memory;
    node.order = n;
    for (std::uint32_t g = 0; g < described.gpus; ++g) {
      engine::Device device;
      device.uuid = engine::DeviceUuid(node.name.text + "/" + std::to_string(g));
      device.model = engine::ModelName(described.name);
      device.memory = described.gpu_memory;
      device.terms.overcommit_permille = std::max(overcommit_, engine::kNoOvercommit);
      device.slots = scenario.sharing.slots;
      card_of_[device.uuid] = cluster_of_.size();
      cluster_of_.push_back(cluster);
      node.devices.push_back(device);
    }
    Result<void> set = engines_[cluster].setNode(node);
    if (!set) return set;
  }
  // What is expected, for policies that ask: each workload as often as it is there.
  engine::Target target;
  for (const DayWorkload& workload : scenario.workloads) {
    const engine::Request request = requestOf(0, workload);
    target.push_back({{}, request.shape.containers[0].devices.compute, 1, {}, workload.count});
  }
  return engines_[cluster].setTarget(target);
}

engine::Request DayClusters::requestOf(std::size_t pod, const DayWorkload& workload) const {
  engine::Request request{idOf(pod), {}};
  engine::DeviceRequest& ask = request.shape.containers.emplace_back().devices;
  ask.count = 1;
  ask.memory = workload.memory;
  if (overcommit_ > engine::kNoOvercommit) ask.guarantee = workload.guarantee;
  ask.compute.milli = static_cast<std::int32_t>(workload.cores) * kPerPercent;
  if (overcommit_ == 0) ask.compute = engine::kWholeDevice;
  const auto day = daily_.find(workload.name);
  if (day != daily_.end()) request.shape.daily = day->second;
  return request;
}

Result<std::optional<std::size_t>> DayClusters::place(std::size_t pod,
                                                      const DayWorkload& workload) {
  const engine::Request request = requestOf(pod, workload);
  for (const std::size_t cluster : by_price_) {
    // However much is promised, it has to be there all at once while it works.
    if (workload.memory > memory_[cluster]) continue;
    const Result<engine::Allocation> placed = engines_[cluster].place(request, kNever);
    if (placed) return std::optional(card_of_.at(placed->placement.charges.front().uuid));
    if (placed.error().code() != ErrorCode::kNoRoom) return placed.error();
  }
  return std::optional<std::size_t>();
}

void DayClusters::release(std::size_t pod, std::size_t card) {
  engines_[cluster_of_[card]].release(idOf(pod));
}

Result<std::vector<std::size_t>> DayClusters::victims(std::size_t pod, const DayWorkload& workload,
                                                      const engine::EvictionCosts& costs) const {
  const engine::Request request = requestOf(pod, workload);
  for (const std::size_t cluster : by_price_) {
    if (workload.memory > memory_[cluster]) continue;
    const auto found = engines_[cluster].preempt(request, rankOf(workload.urgency), costs);
    if (!found) return found.error();
    if (!*found) continue;
    std::vector<std::size_t> pods;
    for (const engine::RequestId& id : (*found)->victims) pods.push_back(podOf(id));
    return pods;
  }
  return std::vector<std::size_t>();
}

}  // namespace divvy::simulator
