#include "meter/duration_estimates.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "cuda/call_work.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000;

double learned(const std::vector<std::uint64_t>& samples) {
  Estimate estimate;
  for (const std::uint64_t sample : samples) estimate.learn(sample, false);
  return static_cast<double>(estimate.duration());
}

TEST(Estimate, FirstSample_TakenAsDuration) {
  Estimate estimate;
  EXPECT_EQ(estimate.duration(), 0u);
  estimate.learn(50 * kMicrosecond, true);
  EXPECT_EQ(estimate.duration(), 50 * kMicrosecond);
  EXPECT_EQ(estimate.samples(), 1u);
}

TEST(Estimate, FirstLaunchLoadsCode_FirstSampleForgotten) {
  EXPECT_EQ(learned({5'000 * kMicrosecond, 50 * kMicrosecond}), 50.0 * kMicrosecond);
}

// Twice as long as the others it stayed in the mean: gaps were charged for seconds.
TEST(Estimate, FirstSampleMuchLonger_NotPartOfMean) {
  Estimate estimate;
  estimate.learn(223 * kMicrosecond, false);
  estimate.learn(100 * kMicrosecond, true);
  EXPECT_EQ(estimate.duration(), 100 * kMicrosecond);
  EXPECT_EQ(learned({223 * kMicrosecond, 100 * kMicrosecond, 102 * kMicrosecond}),
            101.0 * kMicrosecond);
}

TEST(Estimate, OnePreemptedSample_DurationWithinTwoMicroseconds) {
  std::vector<std::uint64_t> samples(64, 50 * kMicrosecond);
  samples.push_back(10'000 * kMicrosecond);
  EXPECT_NEAR(learned(samples), 50 * kMicrosecond, 2 * kMicrosecond);
}

TEST(Estimate, NoisySamples_DurationIsMean) {
  std::mt19937 random(3);
  std::vector<std::uint64_t> samples;
  for (int i = 0; i < 2'000; ++i) samples.push_back((80 + random() % 41) * kMicrosecond);
  EXPECT_NEAR(learned(samples), 100 * kMicrosecond, 5 * kMicrosecond);
}

// One launch in eight takes fifty times as long: no noise, but how the work is.
TEST(Estimate, WorkOfTwoLengths_DurationIsMean) {
  Estimate estimate;
  double sum = 0;
  std::mt19937 random(5);
  for (int i = 0; i < 6'000; ++i) {
    estimate.learn(random() % 8 == 0 ? 500 * kMicrosecond : 10 * kMicrosecond, true);
    if (i >= 2'000) sum += static_cast<double>(estimate.duration());
  }
  EXPECT_NEAR(sum / 4'000, 71.25 * kMicrosecond, 10 * kMicrosecond);
}

TEST(Estimate, WorkChangesLength_DurationFollows) {
  std::vector<std::uint64_t> samples(100, 10 * kMicrosecond);
  samples.insert(samples.end(), 200, 1'000 * kMicrosecond);
  EXPECT_NEAR(learned(samples), 1'000 * kMicrosecond, 20 * kMicrosecond);
  samples.insert(samples.end(), 200, 10 * kMicrosecond);
  EXPECT_NEAR(learned(samples), 10 * kMicrosecond, 20 * kMicrosecond);
}

TEST(Estimate, ExactSamples_OutweighOthersUntilAbsent) {
  Estimate estimate;
  for (int i = 0; i < 10; ++i) estimate.learn(100 * kMicrosecond, true);
  EXPECT_TRUE(estimate.sure());
  estimate.learn(150 * kMicrosecond, false);
  EXPECT_EQ(estimate.duration(), 100 * kMicrosecond);
  for (int i = 0; i < 200; ++i) estimate.learn(150 * kMicrosecond, false);
  EXPECT_FALSE(estimate.sure());
  EXPECT_NEAR(static_cast<double>(estimate.duration()), 150 * kMicrosecond, 2 * kMicrosecond);
}

TEST(Estimate, Wanted_FourTimesWhenNeverLearned) {
  Estimate estimate;
  int wanted = 0;
  for (; wanted < 100 && estimate.wanted(); ++wanted) estimate.noteAsked();
  EXPECT_EQ(wanted, 4);
}

TEST(DurationEstimates, ThousandKeys_DistinctEntries) {
  const auto table = std::make_unique<DurationEstimates>();
  std::set<Estimate*> places;
  for (std::uint64_t i = 1; i <= 1'000; ++i) places.insert(table->at(work_detail::mix(i)));
  EXPECT_EQ(places.size(), 1'000u);
  EXPECT_EQ(places.count(nullptr), 0u);
  for (std::uint64_t i = 1; i <= 1'000; ++i) {
    EXPECT_EQ(places.count(table->at(work_detail::mix(i))), 1u);
  }
}

TEST(DurationEstimates, TableFull_NullForNewKeysAndOldOnesStay) {
  const auto table = std::make_unique<DurationEstimates>();
  bool full = false;
  for (std::uint64_t i = 1; i <= 2 * DurationEstimates::kRoom; ++i) {
    full = full || table->at(work_detail::mix(i)) == nullptr;
  }
  EXPECT_TRUE(full);
  EXPECT_NE(table->at(work_detail::mix(1)), nullptr) << "what is in there stays";
}

TEST(DurationEstimates, ConcurrentLookups_SameEntryPerKey) {
  const auto table = std::make_unique<DurationEstimates>();
  std::vector<std::vector<Estimate*>> seen(4, std::vector<Estimate*>(2'000));
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&table, &mine] {
      for (std::uint64_t i = 0; i < mine.size(); ++i) {
        mine[i] = table->at(work_detail::mix(i + 1));
        mine[i]->learn(1'000 * (i + 1), true);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& other : seen) EXPECT_EQ(other, seen[0]);
}

}  // namespace
}  // namespace divvy::interposer
