#include "accounting/reserved_growth.h"

#include <random>
#include <thread>
#include <vector>

#include "tenant_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::Admission;
using GrowthTest = ledger::TenantTest;  // one device, a ceiling of 1000 bytes

TEST_F(GrowthTest, SampleBelowReservation_ChargeCorrectedToSample) {
  GrowthCharge charge;
  ASSERT_EQ(account_.reserve(0, 600), Admission::kGranted);
  charge.begin(600);
  charge.end(600);
  EXPECT_EQ(charge.settle(account_, 0, charge.mark(), 200), 0u);
  EXPECT_EQ(charge.charged(), 200u);
  EXPECT_EQ(account_.total(0), 200u);
}

TEST_F(GrowthTest, SampleAboveReservation_ExcessReturned) {
  GrowthCharge charge;
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  charge.begin(100);
  charge.end(100);
  EXPECT_EQ(charge.settle(account_, 0, charge.mark(), 250), 150u);
  EXPECT_TRUE(charge.admitMore(account_, 0, 150));
  EXPECT_EQ(charge.settle(account_, 0, charge.mark(), 250), 0u);
  EXPECT_EQ(account_.total(0), 250u);
}

// One thread sampled, another trimmed the pool and settled, and the first one's sample then looked
// like more than was ever charged.
TEST_F(GrowthTest, OldSampleAfterOtherThreadSettled_NoExcess) {
  GrowthCharge charge;
  ASSERT_EQ(account_.reserve(0, 300), Admission::kGranted);
  charge.begin(300);
  charge.end(300);
  const GrowthCharge::Mark slow = charge.mark();
  EXPECT_EQ(charge.settle(account_, 0, charge.mark(), 0), 0u);
  EXPECT_EQ(charge.settle(account_, 0, slow, 300), 0u);
  EXPECT_EQ(charge.charged(), 0u);
  EXPECT_EQ(account_.total(0), 0u);
}

// The driver's side is one number that calls raise by what they were admitted for at most and that
// trims lower; whatever the interleaving, no excess is seen and the last settlement is exact.
TEST_F(GrowthTest, ConcurrentCallsAndTrims_NoFalseExcess) {
  GrowthCharge charge;
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> excesses{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t bytes = random() % 100 + 1;
        if (account_.reserve(0, bytes) == Admission::kGranted) {
          charge.begin(bytes);
          held.fetch_add(random() % (bytes + 1));
          charge.end(bytes);
        } else {
          held.store(0);
        }
        const GrowthCharge::Mark before = charge.mark();
        const std::uint64_t sample = held.load();
        if (random() % 4 == 0) held.store(0);
        if (charge.settle(account_, 0, before, sample) != 0) excesses.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(excesses.load(), 0u);
  EXPECT_EQ(charge.settle(account_, 0, charge.mark(), held.load()), 0u);
  EXPECT_EQ(account_.total(0), held.load());
}

}  // namespace
}  // namespace divvy::interposer
