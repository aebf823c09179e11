// Where cards are: by the simulated driver, and by trees of the kernel's files.
#include "driver/layout.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "sysfs_tree.h"

namespace divvy::driver {
namespace {

namespace fs = std::filesystem;

std::string product(const std::string& name) {
  const char* build = getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/" + name;
}

// The simulated driver reads its environment once per process: eight cards as a DGX-1 has them, at
// 17:00.0, 28:00.0, .. 8e:00.0.
class LayoutTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = fs::temp_directory_path() / "divvy-layout-XXXXXX";
    dir() = mkdtemp(pattern.data());
    setenv("SIMGPU_PROFILE", "v100x8", 1);
    setenv("SIMGPU_DIR", (dir() + "/card").c_str(), 1);
  }
  static void TearDownTestSuite() { fs::remove_all(dir()); }
  static std::string& dir() {
    static std::string path;
    return path;
  }

  Layout layout(const std::string& sysfs) {
    const Result<Nvml> nvml = Nvml::open(product("simgpu/libnvidia-ml.so.1"));
    EXPECT_TRUE(nvml) << nvml.error().message();
    const Result<std::vector<DeviceInfo>> cards = nvml->devices();
    EXPECT_TRUE(cards);
    EXPECT_EQ(cards->size(), 8u);
    return layoutOf(*nvml, *cards, sysfs);
  }

  test::SysfsTree tree_;
};

const CardPair& between(const Layout& layout, unsigned a, unsigned b) {
  for (const CardPair& pair : layout.pairs)
    if (pair.a == a && pair.b == b) return pair;
  ADD_FAILURE() << "nothing of " << a << " and " << b;
  return layout.pairs.front();
}

TEST_F(LayoutTest, DriverOnly_NumaAndLinksRead) {
  const Layout all = layout("");
  ASSERT_EQ(all.numa.size(), 8u);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(all.numa[i], i / 4) << i;
  EXPECT_EQ(all.pairs.size(), 28u);
  EXPECT_EQ(between(all, 0, 1), (CardPair{0, 1, 1, PciPath::kSwitch, true}));
  EXPECT_EQ(between(all, 0, 3), (CardPair{0, 3, 2, PciPath::kNode, true}));
  EXPECT_EQ(between(all, 0, 4), (CardPair{0, 4, 2, PciPath::kSystem, true}));
  EXPECT_EQ(between(all, 0, 5), (CardPair{0, 5, 0, PciPath::kSystem, true}));
  // Each card has six links, all to others.
  std::map<unsigned, unsigned> links;
  for (const CardPair& pair : all.pairs) {
    links[pair.a] += pair.nvlinks;
    links[pair.b] += pair.nvlinks;
  }
  for (const auto& [card, count] : links) EXPECT_EQ(count, 6u) << card;
  EXPECT_TRUE(all.nics.empty());
}

TEST_F(LayoutTest, SysfsTree_NumaAndNicsRead) {
  const std::string one = "pci0000:15/0000:15:01.0/0000:16:00.0/";
  tree_.device(one + "0000:16:00.0/0000:17:00.0", 3);
  tree_.device("pci0000:25/0000:25:01.0/0000:28:00.0", 3);
  tree_.device("pci0000:35/0000:35:01.0/0000:39:00.0", -1);
  // Below another port of the first card's switch; its own switch; and elsewhere.
  tree_.device(one + "0000:16:01.0/0000:18:00.0", 3);
  tree_.device("pci0000:25/0000:25:02.0/0000:2a:00.0", 3);
  tree_.device(one + "0000:16:02.0/0000:1a:00.0/0000:1a:01.0/0000:1b:00.1", 3);
  tree_.nic("mlx5_1", "pci0000:25/0000:25:02.0/0000:2a:00.0");
  tree_.nic("mlx5_0", one + "0000:16:01.0/0000:18:00.0");
  tree_.nic("mlx5_2", one + "0000:16:02.0/0000:1a:00.0/0000:1a:01.0/0000:1b:00.1");
  // Of software: on no bus.
  fs::create_directories(tree_.root() + "/devices/virtual/net/rxe");
  tree_.nic("rxe0", "virtual/net/rxe");
  const Layout all = layout(tree_.root());
  EXPECT_EQ(all.numa[0], 3u);
  // Who does not say, and who is not there, is where the driver says.
  EXPECT_EQ(all.numa[2], 0u);
  EXPECT_EQ(all.numa[4], 1u);
  ASSERT_EQ(all.nics.size(), 3u);
  EXPECT_EQ(all.nics[0].name, "mlx5_0");
  ASSERT_EQ(all.nics[0].to.size(), 8u);
  EXPECT_EQ(all.nics[0].to[0], PciPath::kSwitch);
  EXPECT_EQ(all.nics[0].to[1], PciPath::kNode);
  EXPECT_EQ(all.nics[0].to[2], PciPath::kSystem);
  EXPECT_EQ(all.nics[0].to[4], PciPath::kSystem);
  EXPECT_EQ(all.nics[1].to[0], PciPath::kNode);
  EXPECT_EQ(all.nics[1].to[1], PciPath::kHostBridge);
  EXPECT_EQ(all.nics[2].to[0], PciPath::kSwitches);
}

TEST_F(LayoutTest, SingleNumaNode_AllDevicesOnIt) {
  tree_.node(0);
  tree_.device("pci0000:15/0000:15:01.0/0000:17:00.0", -1);
  tree_.device("pci0000:15/0000:15:02.0/0000:5b:00.0", -1);
  const Layout all = layout(tree_.root());
  EXPECT_EQ(all.numa[0], 0u);
  EXPECT_EQ(all.numa[4], 0u) << "the driver says 1";
}

}  // namespace
}  // namespace divvy::driver
