#include "container/library_staging.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class LibraryStagingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = (fs::temp_directory_path() / "divvy-stage-XXXXXX").string();
    ASSERT_NE(mkdtemp(text.data()), nullptr);
    root_ = text;
    fs::create_directories(root_ + "/image/lib");
    fs::create_directories(root_ + "/image/simgpu");
    write("image/lib/libdivvy-cuda.so", "cuda 1");
    write("image/lib/libdivvy-nvml.so", "nvml 1");
    write("image/simgpu/libcuda.so.1", "sim cuda");
    write("image/simgpu/libnvidia-ml.so.1", "sim nvml");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + "/" + path) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<InstallLayout> stage(bool simulated = false) {
    return stageInstall({root_ + "/image/bin/divvy", root_ + "/image/lib", root_ + "/image/simgpu"},
                        root_ + "/node", simulated);
  }

  std::string root_;
};

TEST_F(LibraryStagingTest, RestrictiveUmask_CopiesReadableByAll) {
  const mode_t before = umask(077);  // as the agent has it
  const Result<InstallLayout> staged = stage(true);
  umask(before);
  ASSERT_TRUE(staged) << staged.error().message();
  EXPECT_EQ(staged->executable, root_ + "/image/bin/divvy");
  EXPECT_EQ(read(staged->lib_dir + "/libdivvy-cuda.so"), "cuda 1");
  EXPECT_EQ(read(staged->sim_dir + "/libnvidia-ml.so.1"), "sim nvml");
  for (const std::string& path :
       {root_ + "/node", staged->lib_dir, staged->sim_dir, staged->lib_dir + "/libdivvy-nvml.so"})
    EXPECT_EQ(fs::status(path).permissions() & fs::perms(0777), fs::perms(0755)) << path;
}

TEST_F(LibraryStagingTest, SameVersion_IsNotRewritten) {
  const Result<InstallLayout> first = stage();
  ASSERT_TRUE(first);
  struct stat before {
  }, after{};
  const std::string path = first->lib_dir + "/libdivvy-cuda.so";
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  const Result<InstallLayout> second = stage();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->lib_dir, first->lib_dir);
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

// Containers that run have the old one mapped: a library that changes under them crashes them.
TEST_F(LibraryStagingTest, OtherVersion_OldCopyUnchanged) {
  const Result<InstallLayout> old = stage();
  ASSERT_TRUE(old);
  write("image/lib/libdivvy-cuda.so", "cuda 2");
  const Result<InstallLayout> fresh = stage();
  ASSERT_TRUE(fresh);
  EXPECT_NE(fresh->lib_dir, old->lib_dir);
  EXPECT_EQ(read(old->lib_dir + "/libdivvy-cuda.so"), "cuda 1");
  EXPECT_EQ(read(fresh->lib_dir + "/libdivvy-cuda.so"), "cuda 2");
}

TEST_F(LibraryStagingTest, DamagedCopy_NewFolderIsUsed) {
  const Result<InstallLayout> first = stage();
  ASSERT_TRUE(first);
  std::ofstream(first->lib_dir + "/libdivvy-cuda.so") << "torn";
  const Result<InstallLayout> second = stage();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->lib_dir, first->lib_dir.substr(0, first->lib_dir.rfind('/')) + ".1/lib");
  EXPECT_EQ(read(second->lib_dir + "/libdivvy-cuda.so"), "cuda 1");
  EXPECT_EQ(read(first->lib_dir + "/libdivvy-cuda.so"), "torn");
}

TEST_F(LibraryStagingTest, LeftoverOfKilledStaging_IsReplaced) {
  fs::create_directories(root_ + "/node/.new/lib");
  write("node/.new/lib/libdivvy-cuda.so", "half");
  const Result<InstallLayout> staged = stage();
  ASSERT_TRUE(staged) << staged.error().message();
  EXPECT_EQ(read(staged->lib_dir + "/libdivvy-cuda.so"), "cuda 1");
  EXPECT_FALSE(fs::exists(root_ + "/node/.new"));
}

TEST_F(LibraryStagingTest, MissingLibrary_ErrorNamesIt) {
  fs::remove(root_ + "/image/lib/libdivvy-nvml.so");
  const Result<InstallLayout> staged = stage();
  ASSERT_FALSE(staged);
  EXPECT_NE(staged.error().message().find("libdivvy-nvml.so"), std::string::npos);
}

}  // namespace
}  // namespace divvy::agent
