#include "reports/right_size.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace divvy::console {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

SizeFacts factsOf(std::uint64_t limit, std::uint64_t peak) {
  SizeFacts facts;
  facts.limit_bytes = limit;
  facts.peak_bytes = peak;
  facts.seen_hours = 24;
  facts.seen_days = 3;
  return facts;
}

TEST(RightSize, PeakPlusTenPercent_UpToNextStep) {
  const SizeAdvice advice = adviseSize(factsOf(16 * kGiB, 6 * kGiB));
  EXPECT_EQ(advice.state, SizeState::kAdvice);
  EXPECT_EQ(advice.limit_bytes, 6912 * kMiB);
  EXPECT_FALSE(advice.cores_percent);
}

TEST(RightSize, SmallPeak_AtLeastHalfGibibyte) {
  EXPECT_EQ(adviseSize(factsOf(4 * kGiB, 0)).limit_bytes, 512 * kMiB);
  EXPECT_EQ(adviseSize(factsOf(512 * kMiB, 0)).state, SizeState::kFits);
}

TEST(RightSize, SmallerByLessThanTenPercent_Fits) {
  // 2304 MiB of 2560 MiB is exactly a tenth less; of 2559 MiB it is not.
  EXPECT_EQ(adviseSize(factsOf(2560 * kMiB, 2090 * kMiB)).limit_bytes, 2304 * kMiB);
  const SizeAdvice fits = adviseSize(factsOf(2559 * kMiB, 2090 * kMiB));
  EXPECT_EQ(fits.state, SizeState::kFits);
  EXPECT_FALSE(fits.limit_bytes);
}

TEST(RightSize, Cores_PercentilePlusMargin) {
  SizeFacts facts = factsOf(kGiB, kGiB);
  facts.cores_percent = 50;
  facts.busy_percent = 12.5;
  EXPECT_EQ(adviseSize(facts).cores_percent, 15);
  facts.busy_percent = 0;
  EXPECT_EQ(adviseSize(facts).cores_percent, 5);
  facts.busy_percent = 39.2;  // 46 of 50
  EXPECT_EQ(adviseSize(facts).state, SizeState::kFits);
  facts.busy_percent = 39.1;  // 45 of 50
  EXPECT_EQ(adviseSize(facts).cores_percent, 45);
  facts.cores_percent = 0;
  EXPECT_FALSE(adviseSize(facts).cores_percent) << "none are requested";
}

TEST(RightSize, ShortHistory_TooEarly) {
  SizeFacts facts = factsOf(16 * kGiB, kGiB);
  facts.seen_days = 2;
  EXPECT_EQ(adviseSize(facts).state, SizeState::kTooEarly);
  facts.seen_days = 3;
  facts.seen_hours = 23.9;
  const SizeAdvice early = adviseSize(facts);
  EXPECT_EQ(early.state, SizeState::kTooEarly);
  EXPECT_FALSE(early.limit_bytes);
}

TEST(RightSize, NoUseKnown_Unknown) {
  SizeFacts facts = factsOf(16 * kGiB, 0);
  facts.peak_bytes.reset();
  EXPECT_EQ(adviseSize(facts).state, SizeState::kUnknown);
  facts.engine_reserves = true;
  EXPECT_EQ(adviseSize(facts).state, SizeState::kUnknown);
}

TEST(RightSize, EngineThatReserves_NoAdviceForMemory) {
  EXPECT_TRUE(reservesMemory("docker.io/vLLM/vllm-openai:v0.9"));
  EXPECT_TRUE(reservesMemory("lmsysorg/sglang:latest"));
  EXPECT_FALSE(reservesMemory("pytorch/pytorch:2.7"));
  SizeFacts facts = factsOf(16 * kGiB, kGiB);
  facts.engine_reserves = true;
  facts.cores_percent = 50;
  facts.busy_percent = 1;
  const SizeAdvice advice = adviseSize(facts);
  EXPECT_EQ(advice.state, SizeState::kReserves);
  EXPECT_FALSE(advice.limit_bytes);
  EXPECT_EQ(advice.cores_percent, 5);
}

TEST(RightSize, Percentile_NearestRank) {
  EXPECT_FALSE(percentile95({}));
  EXPECT_EQ(percentile95({7}), 7);
  std::vector<std::int64_t> values;
  for (std::int64_t value = 100; value >= 1; --value) values.push_back(value);
  EXPECT_EQ(percentile95(values), 95);
  values.assign(20, 3);
  values.back() = 900;
  EXPECT_EQ(percentile95(values), 3) << "one of 20 values is above";
}

std::uint64_t limitAfter(const SizeFacts& facts) {
  return adviseSize(facts).limit_bytes.value_or(facts.limit_bytes);
}

RC_GTEST_PROP(RightSizeProperty, AnyPeak_AdviceBetweenPeakAndLimit, ()) {
  const auto limit = *rc::gen::arbitrary<std::uint64_t>();
  const auto peak = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
  const SizeAdvice advice = adviseSize(factsOf(limit, peak));
  RC_ASSERT((advice.state == SizeState::kAdvice) == advice.limit_bytes.has_value());
  if (!advice.limit_bytes) return;
  RC_ASSERT(*advice.limit_bytes >= peak);
  RC_ASSERT(*advice.limit_bytes <= limit - limit / 10);
  RC_ASSERT(*advice.limit_bytes % (256 * kMiB) == 0u);
}

RC_GTEST_PROP(RightSizeProperty, LargerPeak_AdviceNotSmaller, ()) {
  const std::uint64_t limit = *rc::gen::inRange<std::uint64_t>(1, 200 * kGiB);
  const std::uint64_t peak = *rc::gen::inRange<std::uint64_t>(0, limit + kGiB);
  const std::uint64_t more = *rc::gen::inRange<std::uint64_t>(0, 8 * kGiB);
  RC_ASSERT(limitAfter(factsOf(limit, peak)) <= limitAfter(factsOf(limit, peak + more)));
}

RC_GTEST_PROP(RightSizeProperty, ShrinkBelowTenth_Fits, ()) {
  const std::uint64_t limit = *rc::gen::inRange<std::uint64_t>(kGiB, 200 * kGiB);
  // With its margin of 10 % the peak leaves less than a tenth.
  const std::uint64_t peak = limit / 100 * *rc::gen::inRange<std::uint64_t>(83, 100);
  RC_ASSERT(adviseSize(factsOf(limit, peak)).state == SizeState::kFits);
}

RC_GTEST_PROP(RightSizeProperty, AnyCores_BetweenUseAndRequest, ()) {
  SizeFacts facts = factsOf(kGiB, kGiB);
  facts.cores_percent = *rc::gen::inRange(0, 101);
  facts.busy_percent = *rc::gen::inRange(0, 1200) / 10.0;
  const std::optional<int> cores = adviseSize(facts).cores_percent;
  if (!cores) return;
  RC_ASSERT(*cores >= *facts.busy_percent);
  RC_ASSERT(*cores >= 5);
  RC_ASSERT(*cores <= facts.cores_percent * 0.9);
}

}  // namespace
}  // namespace divvy::console
