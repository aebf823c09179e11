// What workers answer, also wrong answers.
#include "workers/fit_reply.h"

#include <gtest/gtest.h>

#include "hub/capacity_report.h"

namespace divvy::hub {
namespace {

TEST(WorkloadFits, GoodReply_OneForEachWorkload) {
  const auto fits = workloadFitsOf(
      R"({"items": [{"fits": true, "why": null},
                    {"fits": false, "why": "full", "never": true}, {"fits": null}]})",
      3);
  ASSERT_TRUE(fits) << fits.error().message();
  EXPECT_EQ((*fits)[0].fits, true);
  EXPECT_EQ((*fits)[1].fits, false);
  EXPECT_EQ((*fits)[1].why, "full");
  EXPECT_TRUE((*fits)[1].never);
  EXPECT_FALSE((*fits)[0].never);
  EXPECT_EQ((*fits)[2].fits, std::nullopt);
}

TEST(WorkloadFits, OtherAnswers_AreRefusedOrNotKnown) {
  for (const char* text : {"", "[]", "{}", R"({"items": []})", R"({"items": 1})",
                           R"({"fit": 3, "fit_after_eviction": 3})"})
    EXPECT_FALSE(workloadFitsOf(text, 1)) << text;
  const auto fits =
      workloadFitsOf(R"({"items": [7, {"fits": "yes", "why": 3}, {"fits": true, "why": ")" +
                         std::string(5000, 'x') + "\"}]}",
                     3);
  ASSERT_TRUE(fits) << fits.error().message();
  EXPECT_EQ((*fits)[0].fits, std::nullopt);
  EXPECT_EQ((*fits)[1].fits, std::nullopt);
  EXPECT_EQ((*fits)[2].why.size(), 300u) << "a hostile cluster's text is cut";
  EXPECT_TRUE((*fits)[2].why.ends_with("x..."));
}

TEST(CapacityReport, OtherVersion_IsRefused) {
  EXPECT_TRUE(reportOf(R"({"version": 1, "models": []})"));
  for (const char* text : {R"({"version": 2})", R"({"version": "1"})", "{}", "3", "not json"})
    EXPECT_FALSE(reportOf(text)) << text;
}

}  // namespace
}  // namespace divvy::hub
