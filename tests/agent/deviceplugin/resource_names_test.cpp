// Names by which the kubelet counts a node's devices.
#include "deviceplugin/resource_names.h"

#include <gtest/gtest.h>

#include <map>

namespace divvy::agent {
namespace {

std::vector<Device> devicesOf(const std::vector<std::string>& models) {
  std::vector<Device> devices(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    devices[i].info.index = static_cast<unsigned>(i);
    devices[i].info.model = models[i];
    if (models[i].find("MIG") != std::string::npos) devices[i].info.part = "0:" + std::to_string(i);
  }
  return devices;
}

ClusterNode node() {
  ClusterNode node;
  node.resources = {"nvidia.com/gpu", "divvy.dev/gpu"};
  node.of_models = {{"divvy.dev/gpu-h20", {"H20"}, {}},
                    {"divvy.dev/gpu-h200", {"H200"}, {}},
                    {"divvy.dev/gpu-4090", {"4090"}, {"4090 D"}}};
  node.instances_prefix = "nvidia.com/mig-";
  node.per_device = 7;
  return node;
}

using Counts = std::map<std::string, std::vector<std::size_t>>;

Counts countsOf(const std::vector<ExtendedResource>& names) {
  Counts counts;
  for (const ExtendedResource& name : names) counts[name.resource] = name.devices;
  EXPECT_EQ(counts.size(), names.size()) << "a name twice";
  return counts;
}

TEST(CountedNames, Devices_CountedByAllAndModelNames) {
  const auto names = countedNames(
      node(), devicesOf({"NVIDIA H200", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 D"}));
  EXPECT_EQ(countsOf(names), (Counts{{"nvidia.com/gpu", {0, 1, 2}},
                                     {"divvy.dev/gpu", {0, 1, 2}},
                                     {"divvy.dev/gpu-h200", {0}},
                                     {"divvy.dev/gpu-4090", {1}}}));
  for (const ExtendedResource& name : names) EXPECT_EQ(name.units, 7u) << name.resource;
}

// A node without any device that may be given still says its own names: the kubelet knows them.
TEST(CountedNames, ExcludedDevice_IsNotCounted) {
  auto devices = devicesOf({"NVIDIA H200", "NVIDIA H20"});
  devices[0].excluded = true;
  EXPECT_EQ(countsOf(countedNames(node(), devices)),
            (Counts{{"nvidia.com/gpu", {1}}, {"divvy.dev/gpu", {1}}, {"divvy.dev/gpu-h20", {1}}}));
  devices[1].excluded = true;
  EXPECT_EQ(countsOf(countedNames(node(), devices)),
            (Counts{{"nvidia.com/gpu", {}}, {"divvy.dev/gpu", {}}}));
}

TEST(CountedNames, MigInstances_CountedByProfileOnce) {
  const auto names = countedNames(
      node(),
      devicesOf({"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me",
                 "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H200"}));
  EXPECT_EQ(countsOf(names), (Counts{{"nvidia.com/gpu", {0, 1, 2, 3}},
                                     {"divvy.dev/gpu", {0, 1, 2, 3}},
                                     {"divvy.dev/gpu-h200", {3}},
                                     {"nvidia.com/mig-1g.10gb", {0, 2}},
                                     {"nvidia.com/mig-1g.10gb.me", {1}}}));
  EXPECT_EQ(names.back().units, 1u) << "who asks for a profile has all of an instance";
}

TEST(CountedNames, NvidiaNames_RivalSocketsListed) {
  using Names = std::vector<std::string>;
  const auto devices = devicesOf({"NVIDIA A30 MIG 1g.6gb"});
  for (const ExtendedResource& name : countedNames(node(), devices))
    EXPECT_EQ(name.rivals, (Names{"nvidia-gpu.sock", "nvidia-mig-1g.6gb.sock"})) << name.resource;
  // Somebody chose to serve them beside NVIDIA's plugin.
  ClusterNode beside = node();
  beside.resources = {"divvy.dev/gpu"};
  for (const ExtendedResource& name : countedNames(beside, devices))
    EXPECT_EQ(name.rivals,
              name.resource == "divvy.dev/gpu" ? Names{} : Names{"nvidia-mig-1g.6gb.sock"});
}

TEST(CountedNames, DuplicateName_CountedOnce) {
  ClusterNode twice = node();
  twice.resources = {"nvidia.com/gpu", "divvy.dev/gpu-h20", "nvidia.com/gpu"};
  EXPECT_EQ(countsOf(countedNames(twice, devicesOf({"NVIDIA H20"}))),
            (Counts{{"nvidia.com/gpu", {0}}, {"divvy.dev/gpu-h20", {0}}}));
}

}  // namespace
}  // namespace divvy::agent
