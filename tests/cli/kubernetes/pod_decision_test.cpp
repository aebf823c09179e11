// Texts of a decision for a pod.
#include "kubernetes/pod_decision.h"

#include <gtest/gtest.h>

namespace divvy::cli {
namespace {

// Regression: "12 devices cordoned" were devices of 12 nodes.
TEST(PodDecision, Reasons_CountNodesMostFrequentFirst) {
  PodDecision decision;
  EXPECT_EQ(reasonsText(decision), "there are no nodes");
  decision.reasons = {{"cordoned", 1}, {"devices cordoned (2 devices wanted)", 12}};
  EXPECT_EQ(reasonsText(decision),
            "devices cordoned (2 devices wanted) on 12 nodes, cordoned on 1 node");
}

}  // namespace
}  // namespace divvy::cli
