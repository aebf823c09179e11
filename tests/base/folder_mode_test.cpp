#include "base/folder_mode.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace divvy {
namespace {

class FolderModeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "mode-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static mode_t modeOf(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  std::string root_;
};

TEST_F(FolderModeTest, GroupWritableFolder_GroupGetsAccess) {
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  EXPECT_EQ(modeIn(root_, 0700), 0700u);
  EXPECT_EQ(modeIn(root_, 0644), 0644u);
  ASSERT_EQ(chmod(root_.c_str(), 0770), 0);
  EXPECT_EQ(modeIn(root_, 0700), 0770u);
  EXPECT_EQ(modeIn(root_, 0644), 0664u);
  EXPECT_EQ(modeIn(root_, 0755), 0775u);
  EXPECT_EQ(modeIn(root_ + "/none", 0600), 0600u);
}

TEST_F(FolderModeTest, Allow_AddsModesKeepsOthers) {
  const std::string file = root_ + "/file";
  std::ofstream(file) << "x";
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(allow(file, 0644));
  EXPECT_EQ(modeOf(file), 0644u);
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_TRUE(allow(file, 0644));
  EXPECT_EQ(modeOf(file), 0666u);
  EXPECT_FALSE(allow(root_ + "/none", 0644));
}

}  // namespace
}  // namespace divvy
