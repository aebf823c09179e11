#include "simulator/protocol.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/rng.h"
#include "cluster/openb_engine.h"
#include "engine/engine.h"

namespace divvy::simulator {
namespace {

using engine::Instant;

constexpr std::int64_t kWhole = 1000;
constexpr double kTypical = 0.95;
// kube-scheduler looks for at least that many nodes that fit.
constexpr std::size_t kMinSample = 100;
constexpr Instant kNever{INT64_MAX};

std::int64_t demandOf(const OpenbPod& pod) {
  return std::int64_t{pod.gpus} * pod.gpu_milli;
}

// The mean of what was seen while x percent had arrived, for each x.
class Recorder {
 public:
  explicit Recorder(std::int64_t capacity) : capacity_(static_cast<double>(capacity)) {}

  void add(std::int64_t arrived, const engine::Usage& usage) {
    const double x = std::round(static_cast<double>(arrived) / capacity_ * 100);
    if (x < 0 || x >= static_cast<double>(kArrivals)) return;
    ArrivalSums& at = sums_[static_cast<std::size_t>(x)];
    const auto idle = capacity_ - static_cast<double>(usage.used);
    ++at.rows;
    at.allocated += 100 * static_cast<double>(usage.used) / capacity_;
    at.ratio += idle > 0 ? 100 * usage.fragmented / idle : 0;
    at.amount += 100 * usage.fragmented / capacity_;
  }

  AllocationCurve curve() const {
    AllocationCurve curve;
    for (std::size_t x = 0; x < kArrivals; ++x) {
      const ArrivalSums& at = nearest(x);
      const double rows = std::max(at.rows, 1.0);
      curve.allocated[x] = at.allocated / rows;
      curve.fragment_ratio[x] = at.ratio / rows;
      curve.fragment_amount[x] = at.amount / rows;
    }
    return curve;
  }

 private:
  struct ArrivalSums {
    double rows = 0, allocated = 0, ratio = 0, amount = 0;
  };
  // A percentage that no arrival ended at is told by a neighbour; by none: zero.
  const ArrivalSums& nearest(std::size_t x) const {
    if (sums_[x].rows > 0) return sums_[x];
    if (x > 0 && sums_[x - 1].rows > 0) return sums_[x - 1];
    if (x + 1 < kArrivals && sums_[x + 1].rows > 0) return sums_[x + 1];
    return sums_[x];
  }

  double capacity_;
  std::array<ArrivalSums, kArrivals> sums_{};
};

Result<void> setUp(engine::Engine& engine, const std::vector<OpenbNode>& nodes,
                   const std::vector<OpenbPod>& pods, Rng& rng) {
  std::vector<std::uint64_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  rng.shuffle(order);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Result<void> set = engine.setNode(nodeOf(nodes[i], order[i]));
    if (!set) return set;
  }
  return engine.setTarget(typicalPods(pods));
}

std::int64_t capacityOf(const std::vector<OpenbNode>& nodes) {
  std::int64_t gpus = 0;
  for (const OpenbNode& node : nodes) gpus += node.gpus;
  return gpus * kWhole;
}

std::vector<std::uint32_t> drawn(const std::vector<OpenbPod>& pods, double tune,
                                 std::int64_t capacity, Rng& rng) {
  std::vector<std::uint32_t> order(pods.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return pods[a].name < pods[b].name; });
  const std::vector<std::uint32_t> originals = order;
  rng.shuffle(order);
  std::int64_t demand = 0;
  for (const OpenbPod& pod : pods) demand += demandOf(pod);
  const double wanted = tune * static_cast<double>(capacity);
  if (demand == 0) return order;
  if (static_cast<double>(demand) > wanted) {
    while (static_cast<double>(demand) > wanted) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(order.size()));
      demand -= demandOf(pods[order[static_cast<std::size_t>(at)]]);
      order.erase(order.begin() + at);
    }
    return order;
  }
  for (;;) {
    const std::uint32_t one = originals[rng.below(originals.size())];
    // As published: one GPU's part is looked at, and the whole is added.
    if (static_cast<double>(demand + pods[one].gpu_milli) > wanted) break;
    order.push_back(one);
    demand += demandOf(pods[one]);
  }
  return order;
}

}  // namespace

engine::Target typicalPods(const std::vector<OpenbPod>& pods) {
  // As written, so that two ways to write the same models count as two.
  using Kind = std::tuple<std::int64_t, std::int32_t, std::uint32_t, std::string>;
  std::map<Kind, std::uint32_t> counts;
  for (const OpenbPod& pod : pods) {
    ++counts[{pod.cpu_milli, pod.gpu_milli, pod.gpus, pod.models}];
  }
  std::vector<std::pair<std::uint32_t, Kind>> kinds;
  for (const auto& [kind, count] : counts) kinds.emplace_back(count, kind);
  std::sort(kinds.rbegin(), kinds.rend());
  const double wanted = kTypical * static_cast<double>(pods.size());
  engine::Target target;
  double covered = 0;
  for (const auto& [count, kind] : kinds) {
    if (covered >= wanted) break;
    covered += count;
    const auto& [cpu, milli, gpus, models] = kind;
    target.push_back({{cpu}, {milli}, gpus, modelsOf(models), count});
  }
  return target;
}

std::vector<std::uint32_t> arrivals(const std::vector<OpenbPod>& pods, double tune,
                                    std::int64_t capacity_milli, std::uint64_t seed) {
  Rng rng(seed);
  return drawn(pods, tune, capacity_milli, rng);
}

Result<RunResult> runProtocol(const std::vector<OpenbNode>& nodes,
                              const std::vector<OpenbPod>& pods, const Protocol& protocol) {
  const std::int64_t capacity = capacityOf(nodes);
  if (capacity == 0) return Error{ErrorCode::kUsage, "no node has a GPU; accepted: at least one"};
  Rng rng(protocol.seed);
  const std::vector<std::uint32_t> order = drawn(pods, protocol.tune, capacity, rng);
  engine::Engine engine({protocol.policy, protocol.seed});
  const Result<void> ready = setUp(engine, nodes, pods, rng);
  if (!ready) return ready.error();

  std::vector<engine::Request> requests(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) requests[i].shape = shapeOf(pods[i]);
  engine::Window window;
  if (protocol.sample_percent < 100) {
    window.enough = std::max(kMinSample, nodes.size() * protocol.sample_percent / 100);
  }
  Recorder recorder(capacity);
  RunResult result;
  std::int64_t arrived = 0;
  for (const std::uint32_t pod : order) {
    engine::Request& request = requests[pod];
    request.id = engine::RequestId(std::to_string(result.pods++));
    const Result<engine::Allocation> placed = engine.placeWithin(request, kNever, window);
    window.start = (window.start + window.looked_at) % nodes.size();
    arrived += demandOf(pods[pod]);
    if (!placed) {
      if (placed.error().code() != ErrorCode::kNoRoom) return placed.error();
      ++result.failed_pods;
      result.failed_gpus += static_cast<double>(demandOf(pods[pod])) / kWhole;
    }
    recorder.add(arrived, engine.usage());
  }
  result.curve = recorder.curve();
  return result;
}

}  // namespace divvy::simulator
