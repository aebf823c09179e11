#include "policy/bandwidth_estimator.h"

#include <gtest/gtest.h>

namespace divvy::arbiter {
namespace {

constexpr std::uint64_t kSwap = std::uint64_t{100} << 20;

// So many nanoseconds are as many bytes at 1 GB/s.
SwapWork out(std::uint64_t bytes, std::uint64_t nanos) {
  SwapWork work;
  work.out_bytes = bytes;
  work.out_ns = nanos;
  return work;
}

TEST(BandwidthEstimator, FirstSwap_TakenThenAveraged) {
  BandwidthEstimator meter;
  SwapCost cost;
  meter.note(out(kSwap, kSwap));
  meter.measure(&cost);
  EXPECT_NEAR(cost.out_bps, 1e9, 1e6);
  EXPECT_DOUBLE_EQ(cost.in_bps, SwapCost{}.in_bps);
  meter.note(out(kSwap, kSwap / 2));
  meter.measure(&cost);
  EXPECT_NEAR(cost.out_bps, 1.3e9, 1e6);
}

TEST(BandwidthEstimator, SmallSwaps_GatheredFirst) {
  BandwidthEstimator meter;
  SwapCost cost;
  meter.note(out(kSwap / 2, kSwap / 2));
  meter.measure(&cost);
  EXPECT_DOUBLE_EQ(cost.out_bps, SwapCost{}.out_bps);
  meter.note(out(kSwap / 2, kSwap / 2));
  meter.measure(&cost);
  EXPECT_NEAR(cost.out_bps, 1e9, 1e6);
}

TEST(BandwidthEstimator, ForgedCounters_StayWithinBounds) {
  BandwidthEstimator meter;
  SwapCost cost;
  meter.note(out(UINT64_MAX / 2, 0));
  meter.measure(&cost);
  EXPECT_DOUBLE_EQ(cost.out_bps, 1000e9);
  SwapWork drains;
  drains.drains = 1;
  drains.drain_ns = UINT64_MAX;
  meter.note(drains);
  meter.measure(&cost);
  EXPECT_EQ(cost.drain, kSecond);
  BandwidthEstimator slow;
  slow.note(out(kSwap, UINT64_MAX));
  slow.measure(&cost);
  EXPECT_DOUBLE_EQ(cost.out_bps, 0.1e9);
}

}  // namespace
}  // namespace divvy::arbiter
