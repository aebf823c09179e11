#include "device/context_overhead.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class ContextCostsTest : public ::testing::Test {
 protected:
  ContextCostsTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-costs-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    path_ = dir_ + "/costs";
  }
  ~ContextCostsTest() override { fs::remove_all(dir_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  std::string dir_;
  std::string path_;
};

TEST_F(ContextCostsTest, SavedCosts_LoadEqualWithoutLeftovers) {
  const ContextCosts costs{{"GPU-1", mib(500)}, {"GPU-2", mib(300)}};
  saveCosts(path_, "550.54", {});
  saveCosts(path_, "550.54", costs);
  EXPECT_EQ(loadCosts(path_, "550.54"), costs);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(ContextCostsTest, OtherDriver_LoadsNothing) {
  saveCosts(path_, "550.54", {{"GPU-1", mib(500)}});
  EXPECT_TRUE(loadCosts(path_, "560.1").empty());
}

TEST_F(ContextCostsTest, TruncatedLine_IsIgnored) {
  write("550.54\nGPU-1 524288000\nGPU-2 5242");
  EXPECT_EQ(loadCosts(path_, "550.54"), (ContextCosts{{"GPU-1", mib(500)}}));
}

TEST_F(ContextCostsTest, InvalidLine_IsSkipped) {
  write("550.54\nGPU-1\nGPU-2 12x\n\nGPU-3 524288000\n");
  EXPECT_EQ(loadCosts(path_, "550.54"), (ContextCosts{{"GPU-3", mib(500)}}));
}

TEST_F(ContextCostsTest, PathIsFolder_SaveLeavesIt) {
  fs::create_directories(path_ + "/in the way");
  saveCosts(path_, "550.54", {{"GPU-1", mib(500)}});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  EXPECT_TRUE(loadCosts(path_, "550.54").empty());
}

}  // namespace
}  // namespace divvy::agent
