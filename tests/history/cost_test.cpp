#include "history/cost.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace divvy::history {
namespace {

constexpr std::int64_t kHourSeconds = 3600;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

CostedDevice device(MicroUnits price, std::int64_t seconds = kHourSeconds) {
  return {price, seconds, 80 * kGiB * seconds};
}

// A share for the whole hour.
ShareOfDevice share(std::int64_t gib, std::int64_t compute_milli, std::int64_t used_seconds = 0) {
  return {gib * kGiB * kHourSeconds, compute_milli * kHourSeconds, used_seconds * 1'000'000'000};
}

MicroUnits sumOf(const DeviceCost& cost) {
  return std::accumulate(cost.shares.begin(), cost.shares.end(), cost.unallocated,
                         [](MicroUnits sum, const ShareCost& one) { return sum + one.charged; });
}

RC_GTEST_PROP(DivideCost, RandomShares_AddUpToThePrice, ()) {
  const auto price = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
  const auto seconds = *rc::gen::inRange<std::int64_t>(0, kHourSeconds + 1);
  const CostedDevice costed = device(price, seconds);
  std::vector<ShareOfDevice> shares;
  for (int left = *rc::gen::inRange(0, 40); left > 0; --left)
    shares.push_back({*rc::gen::inRange<std::int64_t>(0, 200 * kGiB * kHourSeconds),
                      *rc::gen::inRange<std::int64_t>(0, 1500 * kHourSeconds),
                      *rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000)});
  const DeviceCost cost = divideCost(costed, shares);
  RC_ASSERT(cost.shares.size() == shares.size());
  RC_ASSERT(sumOf(cost) == price);
  RC_ASSERT(cost.unallocated >= 0);
  for (const ShareCost& one : cost.shares) {
    RC_ASSERT(one.charged >= 0 && one.used >= 0 && one.idle >= 0);
    RC_ASSERT(one.used + one.idle == one.charged);
  }
}

RC_GTEST_PROP(DivideCost, LargerPromise_CostsNotLess, ()) {
  std::vector<ShareOfDevice> shares;
  for (int left = *rc::gen::inRange(2, 8); left > 0; --left)
    shares.push_back(share(*rc::gen::inRange(0, 81), *rc::gen::inRange(0, 1001)));
  const auto price = *rc::gen::inRange<std::int64_t>(0, 10'000'000);
  const DeviceCost cost = divideCost(device(price), shares);
  const auto part = [&](std::size_t at) {
    return std::max(shares[at].promised_byte_seconds / (80 * kGiB / 1000),
                    shares[at].promised_compute_milli_seconds);
  };
  for (std::size_t a = 0; a < shares.size(); ++a)
    for (std::size_t b = 0; b < shares.size(); ++b)
      if (part(a) > part(b) + 1) RC_ASSERT(cost.shares[a].charged >= cost.shares[b].charged);
}

TEST(DivideCost, FourQuarters_WholePrice) {
  const auto cost = divideCost(device(2'000'001), std::vector(4, share(20, 250)));
  EXPECT_EQ(cost.unallocated, 0);
  EXPECT_EQ(cost.shares[0].charged, 500'001);
  EXPECT_EQ(cost.shares[3].charged, 500'000);
  EXPECT_EQ(cost.promised_milli, 1000);
}

TEST(DivideCost, FullByMemoryBesideFullByCompute_Scaled) {
  const auto cost = divideCost(device(1'000'000), {share(80, 0), share(0, 1000)});
  EXPECT_EQ(cost.shares[0].charged, 500'000);
  EXPECT_EQ(cost.shares[1].charged, 500'000);
  EXPECT_EQ(cost.promised_milli, 2000);
  EXPECT_EQ(cost.unallocated, 0);
}

TEST(DivideCost, HalfByMemory_DominantPartCharged) {
  const auto cost = divideCost(device(1'000'000), {share(40, 100, 360)});
  EXPECT_EQ(cost.shares[0].charged, 500'000);
  EXPECT_EQ(cost.shares[0].used, 100'000);
  EXPECT_EQ(cost.shares[0].idle, 400'000);
  EXPECT_EQ(cost.unallocated, 500'000);
}

TEST(DivideCost, DeviceWithoutTime_NothingCharged) {
  const auto cost = divideCost({77, 0, 0}, {share(40, 100, 360)});
  EXPECT_EQ(cost.shares[0].charged, 0);
  EXPECT_EQ(cost.unallocated, 77);
}

TEST(PriceOf, PartsOfAnHour_RoundedToNearest) {
  EXPECT_EQ(priceOf(3'600'000, 1), 1'000);
  EXPECT_EQ(priceOf(1'000'000, 3600), 1'000'000);
  EXPECT_EQ(priceOf(1, 1800), 1);
  EXPECT_EQ(priceOf(1, 1799), 0);
  EXPECT_EQ(priceOf(-5, 10), 0);
}

}  // namespace
}  // namespace divvy::history
