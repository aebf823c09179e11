#include "swap_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace divvy::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr CardTime kMs = 1'000'000;
constexpr SwapLink kLink{1e9, 0.8e9};

const Figure* find(const Report& report, const std::string& group, const std::string& key) {
  for (const Figure& figure : report.figures) {
    if (figure.group == group && figure.key == key) return &figure;
  }
  return nullptr;
}

TEST(SwapRate, TwoCopies_PauseCounts) {
  EXPECT_NEAR(rateOf({{{0, 10 * kMs}, {10 * kMs, 20 * kMs}}, 20'000'000}), 1e9, 1);
  EXPECT_NEAR(rateOf({{{0, 10 * kMs}, {30 * kMs, 40 * kMs}}, 20'000'000}), 0.5e9, 1);
  EXPECT_TRUE(std::isnan(rateOf({})));
}

TEST(SwapRate, BothDirections_UntilLastCopy) {
  const Copies out{{{0, 10 * kMs}}, 8'000'000};
  const Copies in{{{5 * kMs, 20 * kMs}}, 8'000'000};
  EXPECT_NEAR(duplexRate(out, in), 0.4e9, 1);
  EXPECT_TRUE(std::isnan(duplexRate(out, {})));
}

TEST(PredictionError, Difference_RelativeToPrediction) {
  EXPECT_NEAR(predictionError(2, 2.2), 0.1, 1e-9);
  EXPECT_NEAR(predictionError(2, 1.5), 0.25, 1e-9);
  EXPECT_TRUE(std::isnan(predictionError(0, 1)));
}

TEST(SwapCases, SeveralCases_WorstPerDirection) {
  std::vector<SwapCase> cases = {
      {"out", 64, 2, 0.5e9, {0.9e9}, {0.1}},
      {"out", 64, 8, 0.5e9, {0.7e9, 0.79e9, 0.8e9}, {0.3}},
      {"in", 64, 2, 0.5e9, {1e9}, {0}},
      {"duplex", 64, 2, 0.5e9, {0.8e9}, {0}},
      // One chunk alone, three beside another, one alone.
      {"handover", 64, 16, 0.5e9, {64 / (2 * 16 / 1e9 + 48 / 0.8e9)}, {0}}};
  Report report;
  addSwapCases(cases, kLink, report);
  ASSERT_NE(find(report, "worst_of_link", "out"), nullptr);
  EXPECT_NEAR(find(report, "worst_of_link", "out")->value, 0.79, 1e-9);
  EXPECT_FALSE(find(report, "worst_of_link", "out")->passed());
  EXPECT_TRUE(find(report, "worst_of_link", "in")->passed());
  EXPECT_NEAR(find(report, "worst_of_link", "duplex")->value, 1, 1e-9);
  EXPECT_NEAR(find(report, "worst_of_link", "handover")->value, 1, 1e-9) << "one chunk behind";
  EXPECT_NEAR(find(report, "", "predicted_error")->value, 0.3, 1e-9);
  EXPECT_FALSE(find(report, "", "predicted_error")->passed());
  EXPECT_NEAR(find(report, "gbps/out/64m", "chunk_8m")->value, 0.79, 1e-9);
  EXPECT_NEAR(find(report, "first_gbps/in/64m", "chunk_2m")->value, 0.5, 1e-9);
}

TEST(SwapCases, UnmeasuredDirection_DoesNotPass) {
  Report report;
  addSwapCases({{"out", 64, 2, 1e9, {1e9}, {0}}, {"in", 64, 2, 1e9, {}, {}}}, kLink, report);
  EXPECT_TRUE(find(report, "worst_of_link", "out")->passed());
  EXPECT_FALSE(find(report, "worst_of_link", "in")->passed()) << "no rates";
  EXPECT_FALSE(find(report, "worst_of_link", "duplex")->passed()) << "no case";
  EXPECT_FALSE(find(report, "", "predicted_error")->passed());
}

TEST(SwapCases, Table_FitsEightyColumns) {
  Report report;
  addSwapCases({{"handover", 1024, 256, 123e9, {123.456e9}, {12.5}}}, kLink, report);
  std::size_t start = 0;
  for (std::size_t end = 0; (end = report.notes.find('\n', start)) != std::string::npos;
       start = end + 1) {
    EXPECT_LE(end - start, 80U);
  }
  EXPECT_THAT(report.notes, HasSubstr("handover"));
  EXPECT_THAT(report.notes, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace divvy::bench
