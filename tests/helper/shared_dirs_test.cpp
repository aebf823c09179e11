#include "helper/shared_dirs.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace divvy::helper {
namespace {

namespace fs = std::filesystem;

mode_t modeOf(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class SharedDirsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lend-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  void make(const std::string& name, mode_t mode) const {
    std::ofstream(root_ + "/" + name) << "x";
    ASSERT_EQ(chmod((root_ + "/" + name).c_str(), mode), 0);
  }

  std::string root_;
};

// What an agent of root's left goes on under one of another user.
TEST_F(SharedDirsTest, SharedDirectory_GroupHasOwnersRights) {
  fs::create_directories(root_ + "/tenants/a");
  ASSERT_EQ(chmod((root_ + "/tenants").c_str(), 0700), 0);
  ASSERT_EQ(chmod((root_ + "/tenants/a").c_str(), 0700), 0);
  make("tenants/a/control", 0644);
  make("tenants/a/report", 0666);
  make("agent.lock", 0600);
  make("program", 0755);
  ASSERT_TRUE(shareDir(root_));
  EXPECT_EQ(modeOf(root_) & 0070u, 0070u);
  EXPECT_EQ(modeOf(root_ + "/tenants"), 0770u);
  EXPECT_EQ(modeOf(root_ + "/tenants/a"), 0770u);
  EXPECT_EQ(modeOf(root_ + "/tenants/a/control"), 0664u);
  EXPECT_EQ(modeOf(root_ + "/tenants/a/report"), 0666u);
  EXPECT_EQ(modeOf(root_ + "/agent.lock"), 0660u);
  EXPECT_EQ(modeOf(root_ + "/program"), 0775u);
  const mode_t others = modeOf(root_) & 0007u;
  unshareDir(root_);
  EXPECT_EQ(modeOf(root_) & 0022u, 0u);
  EXPECT_EQ(modeOf(root_) & 0007u, others);
}

// Whoever has the group's rights may put anything there.
TEST_F(SharedDirsTest, LinksAndPipes_TargetsUnchanged) {
  fs::create_directory(root_ + "/lent");
  make("elsewhere", 0600);
  fs::create_directory(root_ + "/folder");
  ASSERT_EQ(chmod((root_ + "/folder").c_str(), 0700), 0);
  fs::create_symlink("../elsewhere", root_ + "/lent/file");
  fs::create_symlink("../folder", root_ + "/lent/folder");
  ASSERT_EQ(mkfifo((root_ + "/lent/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(shareDir(root_ + "/lent"));
  EXPECT_EQ(modeOf(root_ + "/elsewhere"), 0600u);
  EXPECT_EQ(modeOf(root_ + "/folder"), 0700u);
  EXPECT_EQ(modeOf(root_ + "/lent/pipe"), 0600u);
  fs::create_symlink("lent", root_ + "/link");
  EXPECT_FALSE(shareDir(root_ + "/link"));
}

TEST_F(SharedDirsTest, MissingDirectory_CreatedIfParentExists) {
  ASSERT_TRUE(shareDir(root_ + "/new"));
  EXPECT_EQ(modeOf(root_ + "/new"), 0775u);
  EXPECT_FALSE(shareDir(root_ + "/none/new"));
}

}  // namespace
}  // namespace divvy::helper
