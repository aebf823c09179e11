#include "base/plain_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace divvy {
namespace {

namespace fs = std::filesystem;

class PlainFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "divvy-plain-XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(dir_); }
  ErrorCode codeOf(const fs::path& path) const {
    const Result<std::string> text = readPlainFile(path, 10);
    EXPECT_FALSE(text.has_value()) << path;
    if (text) return ErrorCode::kUsage;
    EXPECT_NE(text.error().message().find(path.string()), std::string::npos)
        << text.error().message();
    return text.error().code();
  }

  fs::path dir_;
};

TEST_F(PlainFile, FileWithinBound_IsRead) {
  std::ofstream(dir_ / "a") << "0123456789";
  EXPECT_EQ(*readPlainFile(dir_ / "a", 10), "0123456789");
  std::ofstream(dir_ / "empty");
  EXPECT_EQ(*readPlainFile(dir_ / "empty", 0), "");
}

TEST_F(PlainFile, FileBeyondBound_IsCorrupt) {
  std::ofstream(dir_ / "a") << "01234567890";
  EXPECT_EQ(codeOf(dir_ / "a"), ErrorCode::kCorrupt);
}

// Regression: a pipe in a record's place kept an agent from ever starting.
TEST_F(PlainFile, OtherKindsOfFile_AreRefused) {
  EXPECT_EQ(codeOf(dir_ / "gone"), ErrorCode::kNotFound);
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  std::ofstream(dir_ / "a") << "x";
  fs::create_symlink(dir_ / "a", dir_ / "link");
  fs::create_directory(dir_ / "folder");
  for (const char* name : {"pipe", "link", "folder"})
    EXPECT_EQ(codeOf(dir_ / name), ErrorCode::kCorrupt) << name;
  EXPECT_EQ(codeOf("/dev/zero"), ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace divvy
