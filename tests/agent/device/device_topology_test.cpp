#include "device/device_topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace divvy::agent {
namespace {

using driver::PciPath;

std::vector<driver::DeviceInfo> cards(unsigned count) {
  std::vector<driver::DeviceInfo> all(count);
  for (unsigned i = 0; i < count; ++i) all[i].uuid = "GPU-" + std::to_string(i);
  return all;
}

TEST(DeviceTopology, PeerLinks_OnlyBetterThanHostListed) {
  driver::Layout layout;
  layout.numa = {0u, 0u, 1u, std::nullopt};
  layout.pairs = {{0, 1, 0, PciPath::kSwitch, true},     {0, 2, 2, PciPath::kSystem, true},
                  {0, 3, 0, PciPath::kHostBridge, true}, {1, 2, 0, PciPath::kSwitch, false},
                  {1, 3, 1, PciPath::kSwitches, false},  {2, 3, 0, PciPath::kSwitches, true}};
  layout.nics = {
      {"mlx5_0", {PciPath::kSwitch, PciPath::kNode, PciPath::kSystem, PciPath::kSystem}}};
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
  layout.pairs = {{0, 1, 0, PciPath::kSame, true},       {0, 2, 2, PciPath::kSwitch, true},
                  {1, 2, 0, PciPath::kSwitches, false},  {0, 3, 18, PciPath::kSystem, true},
                  {1, 3, 0, PciPath::kHostBridge, true}, {2, 3, 0, PciPath::kNode, true},
                  {0, 4, 0, PciPath::kSystem, true}};
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
  layout.pairs = {{0, 1, 0, PciPath::kNode, true, true}, {0, 2, 3, PciPath::kNode, true, false}};
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
