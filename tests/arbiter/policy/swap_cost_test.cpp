// The arithmetic of turns against what was planned for real cards: bytes that have to move each way
// and the bandwidth of both ways at once give the time of a swap and the turns for a given loss.
#include "policy/swap_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace divvy::arbiter {
namespace {

struct Planned {
  const char* card;
  double gigabytes;   // each way
  double bandwidth;   // GB/s, both ways at once
  double swap;        // seconds
  double quantum[3];  // seconds, for a loss of 10, 5 and 2 percent
};

constexpr Planned kPlanned[] = {
    {"24 GB PCIe4, 1.3", 7.2, 20, 0.36, {3.2, 6.8, 17.6}},
    {"24 GB PCIe4, 2.0", 24, 20, 1.20, {10.8, 22.8, 58.8}},
    {"80 GB PCIe4, 1.3", 24, 20, 1.20, {10.8, 22.8, 58.8}},
    {"80 GB PCIe4, 2.0", 80, 20, 4.0, {36, 76, 196}},
    {"80 GB PCIe5, 1.3", 24, 40, 0.60, {5.4, 11.4, 29.4}},
    {"80 GB PCIe5, 2.0", 80, 40, 2.0, {18, 38, 98}},
    {"140 GB PCIe5, 1.3", 42, 40, 1.05, {9.5, 19.9, 51.5}},
    {"140 GB PCIe5, 2.0", 140, 40, 3.5, {31.5, 66.5, 171}},
    {"96 GB C2C, 2.0", 96, 250, 0.38, {3.5, 7.3, 18.8}},
    {"20 GiB of a larger one, 1.3", 6, 40, 0.15, {1.3, 2.9, 7.3}},
    {"20 GiB of a larger one, 2.0", 20, 40, 0.50, {4.5, 9.5, 24.5}},
};

SwapCost costOf(double gigabytes_per_second) {
  SwapCost cost;
  cost.out_bps = cost.in_bps = gigabytes_per_second * 1e9;
  cost.per_chunk = cost.drain = 0;
  return cost;
}

double seconds(Nanos time) {
  return static_cast<double>(time) / 1e9;
}

TEST(SwapCost, PlannedCards_TurnsMatch) {
  constexpr double kLoss[] = {0.10, 0.05, 0.02};
  for (const Planned& each : kPlanned) {
    SCOPED_TRACE(each.card);
    const auto bytes = static_cast<std::uint64_t>(each.gigabytes * 1e9);
    const Nanos swap = swapTime(costOf(each.bandwidth), bytes, bytes);
    EXPECT_NEAR(seconds(swap), each.swap, 0.05 * each.swap);
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_NEAR(seconds(turnFor(swap, kLoss[i])), each.quantum[i], 0.05 * each.quantum[i]);
      const double bounded = std::min(std::max(each.quantum[i], 2.0), 60.0);
      EXPECT_NEAR(seconds(quantumFor(ResidencyConstants{}, swap, kLoss[i])), bounded,
                  0.05 * bounded);
    }
  }
}

TEST(SwapCost, SlowerDirection_DecidesTime) {
  SwapCost cost = costOf(10);
  cost.in_bps = 5e9;
  EXPECT_EQ(swapTime(cost, 10'000'000'000, 0), kSecond);
  EXPECT_EQ(swapTime(cost, 10'000'000'000, 10'000'000'000), 2 * kSecond);
  EXPECT_EQ(swapTime(cost, 0, 0), 0);
  cost.per_chunk = kMillisecond;
  cost.drain = 5 * kMillisecond;
  cost.chunk = 1'000'000'000;
  EXPECT_EQ(swapTime(cost, 10'000'000'000, 0), kSecond + 15 * kMillisecond);
}

TEST(SwapCost, Ratio_DecidesLossTarget) {
  EXPECT_DOUBLE_EQ(lossTarget(1.0, false), 0.03);
  EXPECT_DOUBLE_EQ(lossTarget(1.3, false), 0.03);
  EXPECT_DOUBLE_EQ(lossTarget(1.65, false), 0.055);
  EXPECT_DOUBLE_EQ(lossTarget(2.0, false), 0.08);
  EXPECT_DOUBLE_EQ(lossTarget(4.0, false), 0.08);
  EXPECT_DOUBLE_EQ(lossTarget(1.3, true), 0.10);
}

TEST(SwapCost, Weights_StretchTurnsWithinBounds) {
  const ResidencyConstants constants;
  EXPECT_EQ(quantumFor(constants, kSecond, 0.05, 2), 38 * kSecond);
  EXPECT_EQ(quantumFor(constants, kSecond, 0.05, 0.01), constants.quantum_min);
  EXPECT_EQ(quantumFor(constants, 100 * kSecond, 0.05, 1), constants.quantum_max);
  ResidencyConstants fixed;
  fixed.quantum = 5 * kSecond;
  EXPECT_EQ(quantumFor(fixed, 100 * kSecond, 0.05, 3), 5 * kSecond);
}

TEST(SwapCost, HugeByteCounts_DoNotOverflow) {
  EXPECT_GT(swapTime(costOf(1), UINT64_MAX, UINT64_MAX), kSecond);
  EXPECT_GT(turnFor(swapTime(costOf(1e-9), UINT64_MAX, UINT64_MAX), 0.01), kSecond);
}

}  // namespace
}  // namespace divvy::arbiter
