#include "day/series.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace divvy::simulator {
namespace {

constexpr double kMsPerHour = 3'600'000;
constexpr std::int64_t kShortest = 1000;
// Within one the day's course is taken as even.
constexpr double kStepMs = 10 * 60'000;
constexpr double kMinDuty = 0.001;
constexpr double kLongestBatchHours = 48;

double exponential(Rng& rng, double mean) {
  return -mean * std::log(1 - uniform(rng));
}

double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(rng)));
  return radius * std::cos(2 * std::numbers::pi * uniform(rng));
}

double dutyOf(const Duty& duty, double deviate) {
  return std::clamp(duty.busy / 100 * std::exp(duty.spread * deviate), kMinDuty, 1.0);
}

double wave(double hour, double peak_hour, double power) {
  const double phase = (hour - peak_hour) / 24 * 2 * std::numbers::pi;
  return std::pow((1 + std::cos(phase)) / 2, power);
}

double meanOfWave(double power) {
  constexpr int kSteps = 480;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += wave(24.0 * i / kSteps, 0, power);
  return sum / kSteps;
}

std::int64_t rounded(double ms) {
  return static_cast<std::int64_t>(std::llround(ms));
}

// When the next burst comes: the wait is exponential, at a rate that follows the day.
double nextBurst(const DayShape& shape, const Duty& duty, double now, double end, Rng& rng) {
  double left = exponential(rng, 1);
  while (now < end) {
    const double busy = std::min(shape.at(now / kMsPerHour) / 100 / shape.rate(), kMaxBusy);
    const double per_ms = busy / (1 - busy) / static_cast<double>(duty.burst_ms);
    if (left < per_ms * kStepMs) return now + left / per_ms;
    left -= per_ms * kStepMs;
    now += kStepMs;
  }
  return end;
}

void addBursts(const DayWorkload& workload, const DayShape& shape, Pod& pod, Rng& rng) {
  const Duty& duty = workload.duty;
  const auto end = static_cast<double>(pod.leaves_ms);
  auto now = static_cast<double>(pod.comes_ms);
  // Some are at work when the day begins.
  const double busy = std::min(shape.at(now / kMsPerHour) / 100 / shape.rate(), kMaxBusy);
  if (uniform(rng) >= busy) now = nextBurst(shape, duty, now, end, rng);
  while (now < end) {
    Burst burst;
    burst.at_ms = rounded(now);
    burst.length_ms =
        std::max(rounded(exponential(rng, static_cast<double>(duty.burst_ms))), kShortest);
    burst.duty = dutyOf(duty, normal(rng));
    pod.bursts.push_back(burst);
    now = nextBurst(shape, duty, now + static_cast<double>(burst.length_ms), end, rng);
  }
}

void addServices(const Scenario& scenario, std::uint32_t at, Rng& rng, std::vector<Pod>& pods) {
  const DayWorkload& workload = scenario.workloads[at];
  const DayShape shape(workload.duty);
  const std::int64_t end = rounded(scenario.hours * kMsPerHour);
  for (std::uint32_t i = 0; i < workload.count; ++i) {
    for (std::int64_t now = 0; now < end;) {
      Pod pod{at, now, end, {}};
      if (workload.lifetime_ms > 0) {
        const double life = exponential(rng, static_cast<double>(workload.lifetime_ms));
        pod.leaves_ms = std::min(now + std::max(rounded(life), kShortest), end);
      }
      addBursts(workload, shape, pod, rng);
      now = pod.leaves_ms;
      pods.push_back(std::move(pod));
    }
  }
}

void addBatch(const Scenario& scenario, std::uint32_t at, Rng& rng, std::vector<Pod>& pods) {
  const DayWorkload& workload = scenario.workloads[at];
  const double end = scenario.hours * kMsPerHour;
  double now = exponential(rng, kMsPerHour / workload.per_hour);
  for (; now < end; now += exponential(rng, kMsPerHour / workload.per_hour)) {
    const double length =
        static_cast<double>(workload.length_ms) * std::exp(workload.length_spread * normal(rng));
    Burst burst;
    burst.at_ms = rounded(now);
    burst.length_ms =
        std::max(rounded(std::min(length, kLongestBatchHours * kMsPerHour)), kShortest);
    burst.duty = dutyOf(workload.duty, normal(rng));
    pods.push_back({at, burst.at_ms, burst.at_ms, {burst}});
  }
}

}  // namespace

double uniform(Rng& rng) {
  return static_cast<double>(rng.next() >> 11) * 0x1p-53;
}

DayShape::DayShape(const Duty& duty) : duty_(duty) {
  // The mean of the truncated distribution, by its quantiles.
  constexpr int kDraws = 20'000;
  Rng rng(1);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += dutyOf(duty, normal(rng));
  rate_ = sum / kDraws;
  if (duty.peak <= duty.trough) return;
  const double wanted = (duty.mean - duty.trough) / (duty.peak - duty.trough);
  double low = 0, high = 64;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (meanOfWave(middle) > wanted ? low : high) = middle;
  }
  power_ = low;
}

double DayShape::at(double hour) const {
  return duty_.trough + (duty_.peak - duty_.trough) * wave(hour, duty_.peak_hour, power_);
}

std::vector<Pod> podsOf(const Scenario& scenario, std::uint64_t seed) {
  std::vector<std::vector<Pod>> parts(scenario.workloads.size());
  for (std::uint32_t i = 0; i < scenario.workloads.size(); ++i) {
    // Each workload has its own chance: changing one leaves the others as they are.
    Rng rng(mixed(seed + 1) ^ stableHash(scenario.workloads[i].name));
    const bool batch = scenario.workloads[i].kind == PodKind::kBatch;
    (batch ? addBatch : addServices)(scenario, i, rng, parts[i]);
    std::stable_sort(parts[i].begin(), parts[i].end(),
                     [](const Pod& a, const Pod& b) { return a.comes_ms < b.comes_ms; });
  }
  // Of those that come together one of each workload, by turns.
  std::vector<Pod> all;
  std::vector<std::size_t> next(parts.size());
  for (;;) {
    std::size_t best = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (next[i] == parts[i].size()) continue;
      const auto key = [&](std::size_t at) {
        return std::pair(parts[at][next[at]].comes_ms, next[at]);
      };
      if (best == parts.size() || key(i) < key(best)) best = i;
    }
    if (best == parts.size()) return all;
    all.push_back(std::move(parts[best][next[best]++]));
  }
}

}  // namespace divvy::simulator
