#include "container/driver_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kVersion = "550.54.15";
constexpr const char* kLibraries = "/usr/lib/x86_64-linux-gnu/";

TEST(DriverLibraries, LibraryNames_OnlyComputeLibrariesOfVersion) {
  EXPECT_TRUE(isOfDriver("libcuda.so.1", "libcuda.so.550.54.15", kVersion));
  EXPECT_TRUE(isOfDriver("libnvidia-nvvm.so.4", "libnvidia-nvvm.so.550.54.15", kVersion));
  EXPECT_FALSE(isOfDriver("libcuda.so.1", "libcuda.so.535.1", kVersion));
  EXPECT_FALSE(isOfDriver("libGLX_nvidia.so.0", "libGLX_nvidia.so.550.54.15", kVersion));
  EXPECT_FALSE(isOfDriver("mine.so", "libcuda.so.550.54.15", kVersion));
  EXPECT_FALSE(isOfDriver("libcuda.so.1", "libcuda.so.", ""));
}

TEST(DriverLibraries, PciAddress_MapsToProcNameAndMinor) {
  EXPECT_EQ(procNameOf("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(procNameOf("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(minorIn("Model: \t NVIDIA H100\nDevice Minor: \t 3\nGPU Excluded:\t No\n"), 3);
  EXPECT_EQ(minorIn("Model: \t NVIDIA H100\n"), -1);
  EXPECT_EQ(minorIn("Device Minor:"), -1);
}

class DriverFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "driver-XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    for (const char* name :
         {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libGLX_nvidia"}) {
      write(std::string(kLibraries) + name + ".so." + kVersion, "");
      fs::create_symlink(std::string(name) + ".so." + kVersion,
                         root_ + kLibraries + name + ".so.1");
    }
    for (const char* node : {"nvidia0", "nvidia1", "nvidia3", "nvidiactl", "nvidia-uvm"})
      write(std::string("/dev/") + node, "");
    write("/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Device Minor: \t 3\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  Result<DriverLibraries> find(const std::vector<std::string>& pci) {
    return findDriverFiles(std::string(kLibraries) + "libnvidia-ml.so.1", pci, root_);
  }

  std::string root_;
};

TEST_F(DriverFilesTest, GivenDevice_OnlyItsNodeIsFound) {
  const Result<DriverLibraries> found = find({"00000000:3B:00.0"});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->devices, ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia3"));
  EXPECT_EQ(found->libraries.count("libcuda.so.1"), 1u);
  EXPECT_EQ(found->libraries.count("libnvidia-ptxjitcompiler.so.1"), 1u);
  EXPECT_EQ(found->libraries.count("libGLX_nvidia.so.1"), 0u);
}

TEST_F(DriverFilesTest, UnknownDeviceOrMissingNode_IsRefused) {
  const Result<DriverLibraries> unknown = find({"00000000:AF:00.0"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("0000:af:00.0"));
  fs::remove(root_ + "/dev/nvidia3");
  EXPECT_FALSE(find({"00000000:3B:00.0"}));
}

}  // namespace
}  // namespace divvy::agent
