// A folder in which it is seen whether anybody reads.
#include "container/cdi_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "container/cdi_spec.h"

namespace divvy::agent {
namespace {

class CdiDirectoryTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(root_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string spec(const std::string& control) const {
    return cdiSpec(kPodCdiKind, "t", {{}, {{control, "/run/divvy/tenant/control", true}}, {}});
  }
  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string root_ = "/tmp/divvy-cdi-XXXXXX";
};

TEST_F(CdiDirectoryTest, Write_FileIsReadableByAll) {
  CdiDirectory folder(root_ + "/cdi");
  EXPECT_FALSE(folder.isOpen());
  ASSERT_TRUE(folder.open());
  ASSERT_TRUE(folder.write("t", spec("/c")));
  struct stat info {};
  ASSERT_EQ(stat(folder.fileOf("t").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U);
  EXPECT_EQ(read(folder.fileOf("t")), spec("/c"));
}

TEST_F(CdiDirectoryTest, FileRead_OnlyThatTenantCountsAsRead) {
  CdiDirectory folder(root_);
  ASSERT_TRUE(folder.open());
  EXPECT_TRUE(folder.wasRead("unknown")) << "nobody is accused of what was not watched";
  ASSERT_TRUE(folder.write("t", spec("/c")));
  ASSERT_TRUE(folder.write("other", spec("/d")));
  EXPECT_FALSE(folder.wasRead("t"));
  read(folder.fileOf("other"));
  EXPECT_FALSE(folder.wasRead("t"));
  EXPECT_TRUE(folder.wasRead("other"));
  read(folder.fileOf("t"));
  EXPECT_TRUE(folder.wasRead("t"));
  EXPECT_TRUE(folder.wasRead("t")) << "and stays so";
  ASSERT_TRUE(folder.write("t", spec("/e")));
  EXPECT_FALSE(folder.wasRead("t")) << "nobody has read this one";
}

TEST_F(CdiDirectoryTest, Open_RemovesFilesOfGoneTenants) {
  const std::string living = root_ + "/control";
  std::ofstream(living) << "x";
  {
    CdiDirectory before(root_);
    ASSERT_TRUE(before.open());
    ASSERT_TRUE(before.write("gone", spec(root_ + "/none")));
    ASSERT_TRUE(before.write("lives", spec(living)));
  }
  std::ofstream(root_ + "/divvy.dev-pod-foreign.json") << "{}";
  std::ofstream(root_ + "/nvidia.yaml") << "kind: nvidia.com/gpu";
  CdiDirectory folder(root_);
  ASSERT_TRUE(folder.open());
  EXPECT_NE(access(folder.fileOf("gone").c_str(), F_OK), 0);
  EXPECT_EQ(access(folder.fileOf("lives").c_str(), F_OK), 0);
  EXPECT_EQ(access((root_ + "/divvy.dev-pod-foreign.json").c_str(), F_OK), 0) << "not ours";
  EXPECT_EQ(access((root_ + "/nvidia.yaml").c_str(), F_OK), 0);
}

TEST_F(CdiDirectoryTest, PathIsFile_OpenErrorNamesPath) {
  std::ofstream(root_ + "/file") << "x";
  CdiDirectory folder(root_ + "/file");
  const Result<void> opened = folder.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find(root_ + "/file"), std::string::npos);
}

// Regression: with a helper nobody else takes away what a tenant had.
TEST_F(CdiDirectoryTest, KeepOnly_RemovesOtherTenantsFiles) {
  const std::string living = root_ + "/control";
  std::ofstream(living) << "page";
  {
    CdiDirectory earlier(root_);
    ASSERT_TRUE(earlier.open());
    ASSERT_TRUE(earlier.write("before", spec(living)));
    ASSERT_TRUE(earlier.write("stays", spec(living)));
  }
  CdiDirectory folder(root_);
  ASSERT_TRUE(folder.open());
  ASSERT_TRUE(folder.write("now", spec(living)));
  std::ofstream(root_ + "/vendor.json") << "{}";
  folder.keepOnly({"stays", "now"});
  EXPECT_FALSE(std::filesystem::exists(folder.fileOf("before")));
  EXPECT_TRUE(std::filesystem::exists(folder.fileOf("stays")));
  EXPECT_TRUE(std::filesystem::exists(folder.fileOf("now")));
  folder.keepOnly({});
  EXPECT_FALSE(std::filesystem::exists(folder.fileOf("stays")));
  EXPECT_FALSE(std::filesystem::exists(folder.fileOf("now")));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/vendor.json"));
}

}  // namespace
}  // namespace divvy::agent
