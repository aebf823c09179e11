// Nodes by use: binpack, spread, weighted, and HAMi's scores.
#include <algorithm>
#include <cstdlib>

#include "fit/node_score.h"
#include "score/policies.h"

namespace divvy::engine {
namespace {

// In units of kWholeUse.
std::int64_t shareOf(std::int64_t used, std::int64_t all) {
  return static_cast<std::int64_t>(static_cast<__int128>(used) * kWholeUse / all);
}

struct UsageView {
  std::int64_t all = 0;
  std::int64_t used = 0;
};

// A weighted mean in units of kWholeUse.
class RunningSum {
 public:
  void add(std::int32_t weight, std::int64_t share) {
    share = std::clamp<std::int64_t>(share, 0, kWholeUse);
    sum_ += std::abs(weight) * (weight < 0 ? kWholeUse - share : share);
    weights_ += std::abs(weight);
  }
  // A resource with no capacity does not count.
  void add(std::int32_t weight, const UsageView& of) {
    if (of.all > 0) add(weight, shareOf(of.used, of.all));
  }
  RankingKey value() const { return weights_ == 0 ? 0 : static_cast<RankingKey>(sum_ / weights_); }

 private:
  std::int64_t sum_ = 0;
  std::int64_t weights_ = 0;
};

// Pairs of these devices with direct links. A single device counts as fully linked.
std::int64_t linkedShare(const Topology& topology, const std::uint8_t* devices, std::size_t count) {
  std::int64_t pairs = 0;
  std::int64_t direct = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      ++pairs;
      direct += (topology.direct(devices[a]) & only(devices[b])) != 0 ? 1 : 0;
    }
  }
  return pairs == 0 ? kWholeUse : shareOf(direct, pairs);
}

// HAMi's keys: steps from kHamiLow up, in millionths of a point. Spread takes the lowest score, so
// its keys are of the negative. Values beyond the range are clamped.
constexpr std::int64_t kHamiStep = 200;
constexpr std::int64_t kHamiLow = -12'000'000'000;
constexpr std::int64_t kHamiHigh = 41'000'000'000;
static_assert((kHamiHigh - kHamiLow) / kHamiStep + 1 < std::int64_t{1} << kMetShift);

}  // namespace

bool Scorer::byHami(const ShapeClass& shape) {
  return shape.hami() && (shape.policy() == Policy::kBinpack || shape.policy() == Policy::kSpread);
}

// HAMi's sum over the use of all devices, without regard to kinds and to the request: up to 10 each
// for slots, compute and memory. A resource with no capacity adds nothing. Then HAMi's points for
// kinds whose devices score together.
RankingKey Scorer::hamiKey(const ShapeClass& shape, Slot slot, const CandidateUse& use) const {
  const ColdNode& cold = state_.cold[slot];
  UsageView slots, compute, memory;
  for (std::size_t i = 0; i < cold.used.size(); ++i) {
    slots.all += cold.node.devices[i].slots;
    slots.used += cold.used[i].slots;
    compute.all += cold.node.devices[i].compute.milli;
    compute.used += cold.used[i].compute;
    memory.all += static_cast<std::int64_t>(cold.node.devices[i].memory.count);
    memory.used += cold.used[i].memory;
  }
  std::int64_t score = 0;
  if (slots.all > 0 && compute.all > 0 && memory.all > 0) {
    for (const UsageView& of : {slots, compute, memory}) score += 10 * shareOf(of.used, of.all);
  }
  if ((state_.node.sums[slot] & kMerits) != 0) {
    const CandidateDevices gain{wholeOf(slot, use), shape.devices().links != Preference::kNone};
    const NodeScores merits = nodeScoresOf(state_, slot, gain);
    score += (hamiPoints(merits, shape.policy()) +
              hamiLinkPoints(merits, shape.policy()) / kLinkPointsBy) *
             kWholeUse;
    score += merits.together;
  }
  if (shape.policy() == Policy::kSpread) score = -score;
  return static_cast<RankingKey>((std::clamp(score, kHamiLow, kHamiHigh) - kHamiLow) / kHamiStep);
}

std::int64_t Scorer::hamiScoreOf(const ShapeClass& shape, RankingKey key) {
  const std::int64_t score = (std::int64_t{key} - 1) * kHamiStep + kHamiLow;
  return shape.policy() == Policy::kSpread ? -score : score;
}

// HAMi's own score, not below 0; otherwise percent.
std::uint32_t Scorer::usedScore(const ShapeClass& shape, RankingKey key) {
  if (!byHami(shape)) return (key - 1) / (kWholeUse / 100);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(hamiScoreOf(shape, key), 0) / kWholeUse);
}

// Use with the request. Closed devices do not count.
RankingKey Scorer::usedKey(const ShapeClass& shape, Slot slot, const CandidateUse& use) const {
  if (byHami(shape)) return hamiKey(shape, slot, use);
  const ColdNode& cold = state_.cold[slot];
  const HotNodes& node = state_.node;
  const std::uint32_t first = node.first[slot];
  const Weights& weights = shape.weights();
  UsageView compute, memory;
  for (std::size_t i = 0; i < cold.used.size(); ++i) {
    if (state_.device.closed[first + i] != kOpen) continue;
    compute.all += cold.node.devices[i].compute.milli;
    compute.used += cold.used[i].compute;
    memory.all += state_.device.memory_total[first + i];
    memory.used += cold.used[i].memory;
  }
  std::array<std::int32_t, kMaxDevicesPerNode> after;
  std::copy_n(state_.device.compute_free.data() + first, node.devices[slot], after.begin());
  for (std::size_t k = 0; k < use.count; ++k) {
    compute.used += use.compute[k];
    memory.used += use.memory[k];
    after[use.devices[k]] = std::max(after[use.devices[k]] - use.compute[k], 0);
  }
  const std::int64_t cpu = cold.node.cpu.milli;
  const auto bytes = static_cast<std::int64_t>(cold.node.memory.count);
  RunningSum sum;
  sum.add(weights.cpu, UsageView{cpu, cpu - node.cpu_free[slot] + shape.cpu()});
  sum.add(weights.memory, UsageView{bytes, bytes - node.memory_free[slot] + shape.memory()});
  sum.add(weights.compute, compute);
  sum.add(weights.device_memory, memory);
  if (weights.fragment != 0) {
    const RankingKey key = fragmentKey(shape, slot, after.data());
    sum.add(weights.fragment, std::int64_t{key - 1} * (kWholeUse / 100));
  }
  if (weights.links != 0)
    sum.add(weights.links, linkedShare(cold.topology, use.devices.data(), use.count));
  return sum.value();
}

}  // namespace divvy::engine
