// Where cards are by a simulated driver that was told how they are joined.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

#include "driver/layout.h"

namespace divvy::driver {
namespace {

namespace fs = std::filesystem;

std::string product(const std::string& name) {
  const char* build = getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/" + name;
}

// The simulated driver reads its environment once per process.
TEST(Layout, UnevenLinks_NotCountedAndFlagged) {
  std::string dir = fs::temp_directory_path() / "divvy-uneven-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  setenv("SIMGPU_PROFILE", "a100x4", 1);
  setenv("SIMGPU_DIR", (dir + "/card").c_str(), 1);
  setenv("SIMGPU_NVLINKS", "0-1=4,2-3=2,0>2=1,1-3=1,3>1=2", 1);
  setenv("SIMGPU_NUMA", "1,1,0,0", 1);
  const Result<Nvml> nvml = Nvml::open(product("simgpu/libnvidia-ml.so.1"));
  ASSERT_TRUE(nvml) << nvml.error().message();
  const Result<std::vector<DeviceInfo>> cards = nvml->devices();
  ASSERT_TRUE(cards);
  const Layout all = layoutOf(*nvml, *cards, "");
  EXPECT_EQ(all.numa, (std::vector<std::optional<unsigned>>{1u, 1u, 0u, 0u}));
  const std::vector<CardPair> expected{
      {0, 1, 4, PciPath::kSwitch, true, false}, {0, 2, 0, PciPath::kSystem, true, true},
      {1, 2, 0, PciPath::kSystem, true, false}, {0, 3, 0, PciPath::kSystem, true, false},
      {1, 3, 0, PciPath::kSystem, true, true},  {2, 3, 2, PciPath::kSwitch, true, false}};
  EXPECT_EQ(all.pairs, expected);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace divvy::driver
