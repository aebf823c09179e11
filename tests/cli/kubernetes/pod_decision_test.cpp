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

// Regression: "fits on no node now" was also the answer for a pod that no node can ever take.
TEST(PodDecision, NeverFits_OnlyIfEachNodeRefusesForGood) {
  engine::NodeRefusal small;
  small.why = engine::NodeWhy::kDevices;
  small.needed = 1;
  small.devices = {{engine::DeviceUuid("a"), engine::DeviceWhy::kTooLarge}};
  engine::NodeRefusal busy = small;
  busy.devices.front().why = engine::DeviceWhy::kMemory;
  PodDecision decision;
  EXPECT_FALSE(neverFits(decision)) << "nothing was asked";
  decision.nodes = {{"n1", false, "", small, {}}, {"n2", false, "", small, {}}};
  EXPECT_TRUE(neverFits(decision));
  decision.nodes[1].refusal = busy;
  EXPECT_FALSE(neverFits(decision));
  decision.nodes[1] = {"n2", false, "no devices are registered", std::nullopt, {}};
  EXPECT_FALSE(neverFits(decision)) << "its devices may be registered later";
  decision.nodes.pop_back();
  decision.filtered["n3"] = "cordoned";
  EXPECT_FALSE(neverFits(decision)) << "a cordoned node may fit later";
}

}  // namespace
}  // namespace divvy::cli
