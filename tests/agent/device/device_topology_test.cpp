#include "device/device_topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace divvy::agent {
namespace {

using driver::PciWay;

std::vector<driver::DeviceInfo> cards(unsigned count) {
  std::vector<driver::DeviceInfo> all(count);
  for (unsigned i = 0; i < count; ++i) all[i].uuid = "GPU-" + std::to_string(i);
  return all;
}

TEST(DeviceTopology, PeerLinks_OnlyBetterThanHostListed) {
  driver::Layout layout;
  layout.numa = {0u, 0u, 1u, std::nullopt};
  layout.pairs = {{0, 1, 0, PciWay::kSwitch, true},     {0, 2, 2, PciWay::kSystem, true},
                  {0, 3, 0, PciWay::kHostBridge, true}, {1, 2, 0, PciWay::kSwitch, false},
                  {1, 3, 1, PciWay::kSwitches, false},  {2, 3, 0, PciWay::kSwitches, true}};
  layout.nics = {{"mlx5_0", {PciWay::kSwitch, PciWay::kNode, PciWay::kSystem, PciWay::kSystem}}};
  const std::vector<DeviceLocality> places = placesOf(cards(4), layout);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[2].numa, 1u);
  EXPECT_FALSE(places[3].numa);
  EXPECT_EQ(places[0].ways, (std::vector<PeerLink>{{"GPU-1", 50, false}, {"GPU-2", 200, true}}));
  // They cannot use each other's memory over the bus; by NVLink they can.
  EXPECT_EQ(places[1].ways, (std::vector<PeerLink>{{"GPU-0", 50, false}, {"GPU-3", 140, true}}));
  EXPECT_EQ(places[3].ways, (std::vector<PeerLink>{{"GPU-1", 140, true}, {"GPU-2", 40, false}}));
  EXPECT_EQ(places[0].nics, (std::vector<NicDistance>{{"mlx5_0", 1}}));
  EXPECT_EQ(places[3].nics, (std::vector<NicDistance>{{"mlx5_0", 5}}));
}

TEST(DeviceTopology, Scores_AllPairsInAnnotationUnits) {
  driver::Layout layout;
  layout.pairs = {{0, 1, 0, PciWay::kSame, true},       {0, 2, 2, PciWay::kSwitch, true},
                  {1, 2, 0, PciWay::kSwitches, false},  {0, 3, 18, PciWay::kSystem, true},
                  {1, 3, 0, PciWay::kHostBridge, true}, {2, 3, 0, PciWay::kNode, true},
                  {0, 4, 0, PciWay::kSystem, true}};
  const kube::DeviceScores scores = scoresOf(cards(4), layout);
  EXPECT_EQ(scores, (kube::DeviceScores{{{"GPU-0", "GPU-1"}, 60},
                                        {{"GPU-0", "GPU-2"}, 250},
                                        {{"GPU-1", "GPU-2"}, 40},
                                        {{"GPU-0", "GPU-3"}, 1810},
                                        {{"GPU-1", "GPU-3"}, 30},
                                        {{"GPU-2", "GPU-3"}, 20}}));
}

TEST(DeviceTopology, DisagreeingLinks_AreNamed) {
  driver::Layout layout;
  layout.pairs = {{0, 1, 0, PciWay::kNode, true, true}, {0, 2, 3, PciWay::kNode, true, false}};
  std::vector<driver::DeviceInfo> three = cards(3);
  three[1].index = 5;
  const std::vector<std::string> said = unevenLinks(three, layout);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("devices 0 (GPU-0) and 5 (GPU-1)"), std::string::npos) << said[0];
  EXPECT_EQ(scoresOf(three, layout).at({"GPU-0", "GPU-1"}), 20u) << "the bus is there";
}

TEST(DeviceTopology, SimulatedDevices_SysfsIsNotRead) {
  unsetenv("DIVVY_SYSFS");
  EXPECT_EQ(sysfsRoot(false), "/sys");
  EXPECT_EQ(sysfsRoot(true), "");
  setenv("DIVVY_SYSFS", "/tmp/tree", 1);
  EXPECT_EQ(sysfsRoot(true), "/tmp/tree");
  unsetenv("DIVVY_SYSFS");
}

}  // namespace
}  // namespace divvy::agent
