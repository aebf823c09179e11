// Room of nodes, while nodes and pods come and go in any order.
#include "kubernetes/kube_filters.h"

#include <gtest/gtest.h>

#include <random>

#include <boost/json/parse.hpp>

namespace divvy::cli {
namespace {

namespace json = boost::json;

json::value nodeWith(const std::string& name, unsigned processors) {
  return json::parse(R"({"metadata":{"name":")" + name + R"("},"status":{"allocatable":{"cpu":")" +
                     std::to_string(processors) + R"(","pods":"110"}}})");
}

json::value podWith(const std::string& uid, unsigned processors) {
  return json::parse(R"({"metadata":{"uid":")" + uid +
                     R"("},"spec":{"containers":[{"resources":{"requests":{"cpu":")" +
                     std::to_string(processors) + R"("}}}]}})");
}

class KubeFiltersTest : public ::testing::Test {
 protected:
  bool fits(unsigned processors, const std::string& node = "n") const {
    return filters_.whyNot(podWith("new", processors), node).empty();
  }

  KubeFilters filters_{[](const std::string& name) { return name == "nvidia.com/gpu"; }};
};

TEST_F(KubeFiltersTest, NodeSetTwice_RoomOnce) {
  filters_.setNode(nodeWith("n", 4));
  filters_.setNode(nodeWith("n", 4));
  EXPECT_TRUE(fits(4));
  EXPECT_FALSE(fits(5));
  EXPECT_EQ(filters_.nodes(), std::vector<std::string>{"n"});
  filters_.setNode(nodeWith("n", 2));
  EXPECT_FALSE(fits(3)) << "it has become smaller";
}

TEST_F(KubeFiltersTest, NodeSetAgain_PodsStayCounted) {
  filters_.setNode(nodeWith("n", 4));
  filters_.setPod(podWith("a", 3), "n");
  filters_.setNode(nodeWith("n", 4));
  EXPECT_TRUE(fits(1));
  EXPECT_FALSE(fits(2));
}

TEST_F(KubeFiltersTest, PodBeforeItsNode_Counted) {
  filters_.setPod(podWith("a", 3), "n");
  EXPECT_EQ(filters_.whyNot(podWith("new", 1), "n"), "no such node");
  filters_.setNode(nodeWith("n", 4));
  EXPECT_FALSE(fits(2));
  filters_.endPod("a");
  EXPECT_TRUE(fits(4));
}

TEST_F(KubeFiltersTest, PodSetTwiceAndEndedTwice_CountedOnce) {
  filters_.setNode(nodeWith("n", 4));
  filters_.setPod(podWith("a", 3), "n");
  filters_.setPod(podWith("a", 2), "n");
  EXPECT_TRUE(fits(2));
  EXPECT_FALSE(fits(3));
  filters_.endPod("a");
  filters_.endPod("a");
  filters_.endPod("unknown");
  EXPECT_TRUE(fits(4));
  EXPECT_FALSE(fits(5));
}

TEST_F(KubeFiltersTest, PodMoves_OldNodeFree) {
  filters_.setNode(nodeWith("n", 4));
  filters_.setNode(nodeWith("m", 4));
  filters_.setPod(podWith("a", 3), "n");
  filters_.setPod(podWith("a", 3), "m");
  EXPECT_TRUE(fits(4, "n"));
  EXPECT_FALSE(fits(2, "m"));
}

TEST_F(KubeFiltersTest, NodeRemoved_NoSuchNode) {
  filters_.setNode(nodeWith("n", 4));
  filters_.setPod(podWith("a", 3), "n");
  filters_.removeNode("n");
  filters_.removeNode("n");
  EXPECT_EQ(filters_.whyNot(podWith("new", 1), "n"), "no such node");
  EXPECT_TRUE(filters_.nodes().empty());
  filters_.endPod("a");
  filters_.setNode(nodeWith("n", 4));
  EXPECT_TRUE(fits(4));
  EXPECT_FALSE(fits(5)) << "a pod that ended without its node frees nothing twice";
}

// Any order of events leads to the same room as a new count.
TEST_F(KubeFiltersTest, RandomEvents_EqualNewCount) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    KubeFilters filters([](const std::string&) { return false; });
    std::map<std::string, unsigned> nodes;                         // processors
    std::map<std::string, std::pair<std::string, unsigned>> pods;  // node and processors
    for (unsigned step = 0; step < 60; ++step) {
      const std::string node = "n" + std::to_string(random() % 3);
      const std::string pod = "p" + std::to_string(random() % 6);
      const auto amount = static_cast<unsigned>(1 + random() % 5);
      switch (random() % 4) {
        case 0:
          filters.setNode(nodeWith(node, amount * 40));
          nodes[node] = amount * 40;
          break;
        case 1:
          filters.removeNode(node);
          nodes.erase(node);
          break;
        case 2:
          filters.setPod(podWith(pod, amount), node);
          pods[pod] = {node, amount};
          break;
        default:
          filters.endPod(pod);
          pods.erase(pod);
      }
    }
    for (const auto& [node, all] : nodes) {
      unsigned left = all;
      for (const auto& [pod, taken] : pods) left -= taken.first == node ? taken.second : 0;
      EXPECT_EQ(filters.whyNot(podWith("new", left), node), "") << "seed " << seed;
      EXPECT_EQ(filters.whyNot(podWith("new", left + 1), node), "too little cpu")
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace divvy::cli
