#include "known_faults.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class KnownFaultsTest : public ::testing::Test {
 protected:
  KnownFaultsTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-faults-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    path_ = dir_ + "/faults";
  }
  ~KnownFaultsTest() override { fs::remove_all(dir_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  std::string dir_;
  std::string path_;
  const KnownFaults faults_{{"GPU-1", {48, 1000}}, {"GPU-2", {79, 2000}}};
};

TEST_F(KnownFaultsTest, AreReadBackAndNothingElseIsLeft) {
  EXPECT_TRUE(loadFaults(path_).empty());
  saveFaults(path_, faults_);
  EXPECT_EQ(loadFaults(path_), faults_);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  saveFaults(path_, {});
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(KnownFaultsTest, OfAnotherBootMeanNothing) {
  saveFaults(path_, faults_);
  write("another\n" + text().substr(text().find('\n') + 1));
  EXPECT_TRUE(loadFaults(path_).empty());
}

TEST_F(KnownFaultsTest, LinesThatAreCutOrNotOursAreLeftOut) {
  saveFaults(path_, {{"GPU-1", {48, 1000}}});
  write(text() + "GPU-3 0 5\nGPU-4 x 5\nGPU-5\n\nGPU-6 48 5 6\nGPU-7 48 20");
  EXPECT_EQ(loadFaults(path_), (KnownFaults{{"GPU-1", {48, 1000}}}));
}

TEST_F(KnownFaultsTest, AFolderInItsPlaceIsLeftAlone) {
  fs::create_directories(path_ + "/in the way");
  saveFaults(path_, faults_);
  saveFaults(path_, {});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  EXPECT_TRUE(loadFaults(path_).empty());
}

// A card that does not answer has a fault that is as new with each look.
TEST_F(KnownFaultsTest, AreNotWrittenWithEachLook) {
  KnownFaults later = faults_;
  later["GPU-1"].since_ms += 29'999;
  EXPECT_FALSE(differ(faults_, later));
  later["GPU-1"].since_ms += 1;
  EXPECT_TRUE(differ(faults_, later));
  EXPECT_TRUE(differ(faults_, {}));
  EXPECT_TRUE(differ({}, faults_));
  EXPECT_TRUE(differ(faults_, {{"GPU-1", {63, 1000}}, {"GPU-2", {79, 2000}}}));
}

}  // namespace
}  // namespace divvy::agent
