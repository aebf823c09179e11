// Which nodes kube-scheduler refuses where a DeviceClass stands for a count of devices.
#include "kubernetes/device_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

kube::Pod podThatAsks(const kube::Quantities& limits) {
  kube::Pod pod;
  pod.containers.emplace_back().limits = limits;
  return pod;
}

kube::Node nodeWith(const std::string& name, const kube::Quantities& allocatable) {
  kube::Node node;
  node.meta.name = name;
  node.allocatable = allocatable;
  return node;
}

const std::vector<doctor::MappedClass> kClasses{{"gpu.nvidia.com", "nvidia.com/gpu"}};
const kube::Pod kShare =
    podThatAsks({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "4096"}, {"cpu", "1"}});
const kube::Node kSilent = nodeWith("silent", {{"nvidia.com/gpu", "10"}});
const kube::Node kTells =
    nodeWith("tells", {{"nvidia.com/gpu", "10"}, {"nvidia.com/gpumem", "80000"}});
const kube::Node kPlain = nodeWith("plain", {{"cpu", "8"}});

TEST(DeviceClasses, NodeLacksResource_NodeNamed) {
  EXPECT_THAT(hazardText(kClasses, kShare, {kSilent, kTells, kPlain}),
              AllOf(HasSubstr("DeviceClass gpu.nvidia.com is mapped to nvidia.com/gpu"),
                    HasSubstr("announce nvidia.com/gpumem (silent)"), Not(HasSubstr("cpu")),
                    Not(HasSubstr("plain"))));
}

TEST(DeviceClasses, NoNodeRefused_NoText) {
  EXPECT_EQ(hazardText(kClasses, kShare, {kTells, kPlain}), "");
  EXPECT_EQ(hazardText({}, kShare, {kSilent}), "");
  EXPECT_EQ(hazardText({{"nic", "example.com/nic"}}, kShare, {kSilent}), "");
  EXPECT_EQ(hazardText(kClasses, podThatAsks({{"nvidia.com/gpu", "1"}}), {kSilent}), "");
}

TEST(DeviceClasses, FiveNodes_ThreeNamedRestCounted) {
  std::vector<kube::Node> nodes;
  for (const char* name : {"a", "b", "c", "d", "e"})
    nodes.push_back(nodeWith(name, kSilent.allocatable));
  EXPECT_THAT(hazardText(kClasses, kShare, nodes), HasSubstr("(a, b, c and 2 others)"));
}

}  // namespace
}  // namespace divvy::cli
