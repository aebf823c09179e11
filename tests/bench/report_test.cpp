#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "samples.h"

namespace divvy::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Samples, OneKey_ValuesInOrder) {
  const std::string output = "batch 1.5\ninit 9\nbatch 2.5\nbatch 0.5\n";
  EXPECT_THAT(samplesOf(output, "batch"), ElementsAre(1.5, 2.5, 0.5));
  EXPECT_THAT(samplesOf(output, "lost"), ElementsAre());
}

TEST(Samples, Percentile_IsNearestRank) {
  Samples values;
  for (int i = 200; i > 0; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0.99), 198);
  EXPECT_EQ(median(values), 100);
  EXPECT_EQ(largest(values), 200);
  EXPECT_EQ(percentile({7}, 0.5), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

Figure figure(double value, std::optional<double> bar) {
  return {"added_ns", "launch", value, 1.0, value + 1.0, bar};
}

TEST(Report, ValueAtBar_Passes) {
  EXPECT_TRUE(figure(5, 5).passed());
  EXPECT_FALSE(figure(5.001, 5).passed());
  EXPECT_TRUE(figure(-0.4, 5).passed());
  EXPECT_TRUE(figure(1e9, {}).passed());
}

TEST(Report, Unmeasured_NeverPasses) {
  EXPECT_FALSE(figure(kNan, 5).passed());
  EXPECT_FALSE(figure(kNan, {}).passed());
  Report report;
  report.figures = {figure(1, 5), figure(kNan, 5)};
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(json(report), HasSubstr("\"launch\": null"));
}

// A neighbour's share that never came back made the file no JSON at all.
TEST(Report, Infinite_IsNullInJson) {
  Report report;
  report.figures = {figure(std::numeric_limits<double>::infinity(), 5)};
  EXPECT_THAT(json(report), HasSubstr("\"launch\": null"));
  EXPECT_EQ(json(report).find("inf"), std::string::npos);
}

TEST(Report, Json_NestsGroupsKeepsBars) {
  Report report;
  report.date = "2026-01-01T00:00:00Z";
  report.driver = "a \"card\"";
  report.figures = {{"added_ns", "launch", 1.25, 2.0, 3.25, 5.0},
                    {"", "holder_killed_ms", 7, {}, {}, 100},
                    {"added_ns", "untouched", 0.5, {}, {}, {}}};
  const std::string text = json(report);
  EXPECT_THAT(text, HasSubstr("\"driver\": \"a \\\"card\\\"\""));
  EXPECT_THAT(text,
              HasSubstr("\"added_ns\": {\n    \"launch\": 1.250,\n    \"untouched\": 0.500\n  },"));
  EXPECT_THAT(text, HasSubstr("\"holder_killed_ms\": 7.000,"));
  EXPECT_THAT(text, HasSubstr("\"added_ns/launch\": 5.000"));
  EXPECT_THAT(text, HasSubstr("\"passed\": true"));
  EXPECT_THAT(text, Not(HasSubstr(",\n  }")));
}

TEST(Report, DeepGroups_NestInJson) {
  Report report;
  report.figures = {{"cases/k1/divvy", "error_pp_1s", 1.5, {}, {}, {}},
                    {"cases/k20/divvy", "error_pp_1s", 4, {}, {}, {}},
                    {"cases/k1/divvy", "total_vs_solo", 0.99, {}, {}, {}}};
  EXPECT_THAT(json(report),
              HasSubstr("\"k1\": {\n      \"divvy\": {\n        \"error_pp_1s\": 1.500,\n"
                        "        \"total_vs_solo\": 0.990\n      }\n    },\n    \"k20\""));
}

TEST(Report, BarToReach_MissedBelow) {
  Figure total{"", "total_vs_solo", 0.979, {}, {}, 0.98};
  total.at_least = true;
  EXPECT_FALSE(total.passed());
  total.value = 0.98;
  EXPECT_TRUE(total.passed());
}

TEST(Report, Details_NotInTable) {
  Report report;
  report.figures = {{"cases/k1", "error_pp_1s", kNan, {}, {}, {}}};
  report.figures[0].detail = true;
  EXPECT_TRUE(report.passed()) << "a detail that was not measured decides nothing";
  EXPECT_THAT(table(report), Not(HasSubstr("error_pp_1s")));
  EXPECT_THAT(json(report), HasSubstr("\"error_pp_1s\": null"));
}

TEST(Report, Table_FitsEightyColumns) {
  Report report;
  report.figures = {{"added_ns", "alloc_free_64_registered", 123.4, 99999.1, 99999.9, 100.0}};
  const std::string text = table(report);
  EXPECT_THAT(text, HasSubstr("MISS"));
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 80U);
  }
}

}  // namespace
}  // namespace divvy::bench
