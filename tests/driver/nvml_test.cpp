// The typed NVML and the weighing of contexts, on the simulated driver.
#include "driver/nvml.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>

#include "driver/context_probe.h"
#include "driver/library.h"
#include "simgpu/catalog.h"

namespace divvy::driver {
namespace {

namespace fs = std::filesystem;

std::string product(const std::string& name) {
  const char* build = getenv("DIVVY_BUILD_DIR");
  return std::string(build == nullptr ? "." : build) + "/" + name;
}

// The simulated driver reads its environment once per process.
class NvmlTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = fs::temp_directory_path() / "divvy-nvml-XXXXXX";
    dir() = mkdtemp(pattern.data());
    setenv("SIMGPU_PROFILE", "h100x2", 1);
    setenv("SIMGPU_DIR", (dir() + "/card").c_str(), 1);
  }
  static void TearDownTestSuite() { fs::remove_all(dir()); }
  static std::string& dir() {
    static std::string path;
    return path;
  }

  std::string nvml_path_ = product("simgpu/libnvidia-ml.so.1");
  std::string cuda_path_ = product("simgpu/libcuda.so.1");
};

simgpu::ProfileEntry profileOf(std::string_view name) {
  for (const simgpu::ProfileEntry& entry : simgpu::profileCatalog()) {
    if (entry.name == name) return entry;
  }
  return {};
}

TEST_F(NvmlTest, Devices_AsProgramsCanUseThem) {
  const Result<Nvml> nvml = Nvml::open(nvml_path_);
  ASSERT_TRUE(nvml) << nvml.error().message();
  EXPECT_EQ(nvml->path(), nvml_path_);
  EXPECT_NE(nvml->driverVersion(), "");
  const Result<std::vector<DeviceInfo>> devices = nvml->devices();
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2u);
  std::set<std::string> uuids;
  std::set<std::string> places;
  for (const DeviceInfo& device : *devices) {
    EXPECT_EQ(device.model, profileOf("h100").model);
    EXPECT_EQ(device.physical.count, profileOf("h100").usable_bytes);
    EXPECT_EQ(device.uuid.find("GPU-"), 0u);
    EXPECT_LE(device.pci.size(), 15u) << "must fit into the control page";
    uuids.insert(device.uuid);
    places.insert(device.pci);
  }
  EXPECT_EQ(uuids.size(), 2u);
  EXPECT_EQ(places.size(), 2u);
}

TEST_F(NvmlTest, IdleDevice_NoUseOrProcesses) {
  const Result<Nvml> nvml = Nvml::open(nvml_path_);
  ASSERT_TRUE(nvml);
  const Result<DeviceUse> use = nvml->use(0);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used.count, 0u);
  EXPECT_TRUE(nvml->processes(0).empty());
  EXPECT_TRUE(nvml->processTimes(0).empty());
  EXPECT_FALSE(nvml->use(99));
}

TEST_F(NvmlTest, ProbeContext_CostMeasuredAndContextGone) {
  const Result<Nvml> nvml = Nvml::open(nvml_path_);
  ASSERT_TRUE(nvml);
  const Result<std::vector<DeviceInfo>> devices = nvml->devices();
  ASSERT_TRUE(devices);
  for (const DeviceInfo& device : *devices) {
    const Result<Bytes> cost = probeContext(cuda_path_, nvml_path_, device.uuid);
    ASSERT_TRUE(cost) << cost.error().message();
    EXPECT_EQ(cost->count, profileOf("h100").context_bytes);
  }
  EXPECT_EQ(nvml->use(0)->used.count, 0u) << "the probe's context is gone";
}

TEST_F(NvmlTest, ProbeOfUnknownDevice_ErrorNamesIt) {
  const Result<Bytes> cost = probeContext(cuda_path_, nvml_path_, "GPU-0");
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().message(), "NVML does not know GPU-0");
}

TEST_F(NvmlTest, LibraryMissing_UnavailableAndNamed) {
  const Result<Nvml> nvml = Nvml::open("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(nvml.error().message().find("/nowhere/libnvidia-ml.so.1"), std::string::npos);
}

TEST(Library, FindIn_FirstDirectoryWithIt) {
  EXPECT_EQ(findIn({"", "/nowhere", product("simgpu")}, "libcuda.so.1"),
            product("simgpu/libcuda.so.1"));
  EXPECT_EQ(findIn({"/nowhere"}, "libcuda.so.1"), "libcuda.so.1");
}

TEST(Library, AbsentFunction_Null) {
  const Result<Library> library = Library::open(product("simgpu/libnvidia-ml.so.1"));
  ASSERT_TRUE(library);
  EXPECT_NE(library->find<int()>("nvmlInit_v2"), nullptr);
  EXPECT_EQ(library->find<int()>("nvmlDoesNotExist"), nullptr);
}

}  // namespace
}  // namespace divvy::driver
