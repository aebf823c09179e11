#include "node_object/node_capacity.h"

#include <gtest/gtest.h>

#include "kube/device_list.h"

namespace divvy::agent {
namespace {

using Set = std::set<std::string>;

constexpr const char* kMemory = "nvidia.com/gpumem";

kube::Node node(const kube::Quantities& capacity, const std::string& announced = "") {
  kube::Node node;
  node.capacity = capacity;
  if (!announced.empty()) node.meta.annotations[kube::kAnnouncedResourcesKey] = announced;
  return node;
}

class NodeCapacityTest : public testing::Test {
 protected:
  const Set resources_{"nvidia.com/gpu"};
  NodeCapacity capacity_{resources_};
};

TEST_F(NodeCapacityTest, NothingWanted_UpToDate) {
  capacity_.onNodeUpdate(node({{"cpu", "4"}}));
  EXPECT_TRUE(capacity_.upToDate());
  EXPECT_EQ(capacity_.announced(), Set());
}

TEST_F(NodeCapacityTest, WantedAmount_UpToDateOnlyIfTheNodeHasIt) {
  capacity_.want({{kMemory, 81920}});
  EXPECT_EQ(capacity_.announced(), Set{kMemory});
  for (const char* other : {"81919", "-81920", "81920.5", "much"}) {
    capacity_.onNodeUpdate(node({{kMemory, other}}));
    EXPECT_FALSE(capacity_.upToDate()) << other;
  }
  capacity_.onNodeUpdate(node({}));
  EXPECT_FALSE(capacity_.upToDate());
  capacity_.onNodeUpdate(node({{kMemory, "81920"}}));
  EXPECT_TRUE(capacity_.upToDate());
  capacity_.onNodeUpdate(node({{kMemory, "80Ki"}}));
  EXPECT_TRUE(capacity_.upToDate()) << "the same amount in another form";
}

TEST_F(NodeCapacityTest, AnnouncedAndNotWanted_IsRemovedOnce) {
  capacity_.onNodeUpdate(node({{kMemory, "1"}}, kMemory));
  EXPECT_EQ(capacity_.withdrawn(), Set{kMemory});
  EXPECT_EQ(capacity_.announced(), Set{kMemory}) << "a later agent has to know of it";
  EXPECT_FALSE(capacity_.upToDate());
  capacity_.written({});
  EXPECT_TRUE(capacity_.upToDate());
  EXPECT_EQ(capacity_.announced(), Set());
}

TEST_F(NodeCapacityTest, AnnouncementOfOthers_RemovesNothing) {
  capacity_.want({{kMemory, 1}});
  capacity_.onNodeUpdate(node({{"cpu", "4"}, {"nvidia.com/gpu", "8"}, {kMemory, "1"}},
                              "cpu,nvidia.com/gpu,nvidia.com/gpumem,absent.com/gpu"));
  EXPECT_EQ(capacity_.withdrawn(), Set());
  EXPECT_TRUE(capacity_.upToDate());
}

TEST_F(NodeCapacityTest, WantedChangesDuringAWrite_IsWrittenAgain) {
  capacity_.want({{kMemory, 1}});
  const NodeCapacity::Amounts sent = capacity_.wanted();
  capacity_.want({{kMemory, 2}});
  capacity_.written(sent);
  EXPECT_FALSE(capacity_.upToDate());
}

}  // namespace
}  // namespace divvy::agent
