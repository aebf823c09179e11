// What is taken away with a share or an agent, and what is not.
#include "os/managed_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "log/log.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class ManagedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "divvy-own-XXXXXX";
    root_ = mkdtemp(pattern.data());
    dir_ = root_ / "tenant";
    fs::create_directory(dir_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& path) const { std::ofstream(path) << "x"; }

  fs::path root_, dir_;
};

TEST_F(ManagedFilesTest, OnlyManagedFiles_FolderRemoved) {
  for (const ManagedFile& one : tenantFiles()) write(dir_ / one.name);
  for (const char* half : {"tenant.json.new", "tenant.json.lost", "notice.json.new"})
    write(dir_ / half);
  EXPECT_TRUE(removeManaged(dir_, tenantFiles()).empty());
  EXPECT_FALSE(fs::exists(dir_));
}

TEST_F(ManagedFilesTest, ForeignFile_IsKept) {
  write(dir_ / "control");
  write(dir_ / "thesis.tex");
  EXPECT_EQ(removeManaged(dir_, tenantFiles()), (std::vector<std::string>{"thesis.tex"}));
  EXPECT_TRUE(fs::exists(dir_ / "thesis.tex"));
  EXPECT_FALSE(fs::exists(dir_ / "control"));
}

// Of our name, and not of our making.
TEST_F(ManagedFilesTest, LinkOrFolderOfManagedName_TargetKept) {
  write(root_ / "precious");
  fs::create_symlink(root_ / "precious", dir_ / "report");
  fs::create_directory(dir_ / "work");
  write(dir_ / "work" / "data");
  ASSERT_EQ(mkfifo((dir_ / "swap").c_str(), 0600), 0);
  EXPECT_EQ(removeManaged(dir_, tenantFiles()), (std::vector<std::string>{"work"}));
  EXPECT_TRUE(fs::exists(root_ / "precious"));
  EXPECT_TRUE(fs::exists(dir_ / "work" / "data"));
}

// Regression: an agent that had said a megabyte left its first log behind, and doctor named it as
// foreign.
TEST_F(ManagedFilesTest, RotatedLog_IsManaged) {
  log::open((dir_ / "agent.log").string());
  const std::string line(4096, 'x');
  for (int at = 0; at < 3 * 256; ++at) log::info(line);
  log::open("");
  EXPECT_TRUE(fs::exists(dir_ / "agent.1.log"));
  EXPECT_TRUE(removeManaged(dir_, nodeFiles()).empty());
  EXPECT_FALSE(fs::exists(dir_));
}

TEST_F(ManagedFilesTest, ManagedFolder_RemovedWithContents) {
  fs::create_directories(dir_ / "card" / "deep");
  write(dir_ / "card" / "deep" / "card0");
  write(dir_ / "agent.lock");
  EXPECT_TRUE(removeManaged(dir_, nodeFiles()).empty());
  EXPECT_TRUE(removeManaged(dir_, nodeFiles()).empty()) << "what is gone is nothing to tell of";
}

}  // namespace
}  // namespace divvy::agent
