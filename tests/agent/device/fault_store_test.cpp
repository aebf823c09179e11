#include "device/fault_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

class FaultStoreTest : public ::testing::Test {
 protected:
  FaultStoreTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-faults-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    path_ = dir_ + "/faults";
  }
  ~FaultStoreTest() override { fs::remove_all(dir_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  static PersistedDeviceState withFaults(KnownFaults faults) {
    PersistedDeviceState known;
    known.faults = std::move(faults);
    return known;
  }
  PersistedDeviceState load() const { return loadKnown(path_); }

  std::string dir_;
  std::string path_;
  const KnownFaults faults_{{"GPU-1", {48, 1000}}, {"GPU-2", {79, 2000}}};
  const KnownFaults away_{{"GPU-1", {48, 1000, 1700000000, 1700000600}}, {"GPU-2", {63, 5, 0, 9}}};
  const KnownErrors errors_{{"GPU-1", {7, true, false}}, {"GPU-2", {}}, {"MIG-3", {0, {}, {}}}};
};

TEST_F(FaultStoreTest, SavedState_LoadsEqualAndEmptyRemovesFile) {
  EXPECT_TRUE(load().faults.empty());
  EXPECT_EQ(load().damage, "") << "the first agent finds none";
  PersistedDeviceState known = withFaults(away_);
  known.errors = errors_;
  known.driver = "575.57.08 of a vendor";
  saveKnown(path_, known);
  const PersistedDeviceState read = load();
  EXPECT_EQ(read.damage, "");
  EXPECT_EQ(read.faults, away_);
  EXPECT_EQ(read.errors, errors_);
  EXPECT_EQ(read.driver, known.driver);
  EXPECT_TRUE(read.this_boot);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  saveKnown(path_, {});
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(FaultStoreTest, OtherBoot_ErrorsKeptFaultsDropped) {
  PersistedDeviceState known = withFaults(away_);
  known.errors = errors_;
  saveKnown(path_, known);
  const std::string boot = "01234567-89ab-cdef-0123-456789abcdef";
  write(boot + text().substr(text().find('\n')));
  EXPECT_EQ(load().damage, "");
  EXPECT_FALSE(load().this_boot);
  EXPECT_TRUE(load().faults.empty());
  EXPECT_EQ(load().errors, errors_);
}

// Agents before wrote nothing else, and leave out what they do not understand.
TEST_F(FaultStoreTest, EarlierFormat_IsRead) {
  saveKnown(path_, withFaults({{"GPU-1", {48, 1000}}}));
  const std::string boot = text().substr(0, text().find('\n') + 1);
  write(boot + "GPU-1 48 1000\nGPU-2 79 2000\n");
  EXPECT_EQ(load().faults, faults_);
  EXPECT_EQ(load().damage, "");
  EXPECT_TRUE(load().errors.empty());
}

TEST_F(FaultStoreTest, CutOrForeignLines_AreSkipped) {
  saveKnown(path_, withFaults({{"GPU-1", {48, 1000}}}));
  write(text() + "GPU-3 0 5\nGPU-4 x 5\nGPU-5\n\nGPU-6 48 5 6\nGPU-7 48 20");
  EXPECT_EQ(load().faults, (KnownFaults{{"GPU-1", {48, 1000}}}));
  EXPECT_EQ(load().damage, "line 5 is not understood");
}

TEST_F(FaultStoreTest, CutAnywhere_DamageIsReported) {
  PersistedDeviceState known = withFaults(away_);
  known.errors = errors_;
  saveKnown(path_, known);
  const std::string whole = text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    const PersistedDeviceState read = load();
    EXPECT_NE(read.damage, "") << size << " of " << whole.size() << " bytes";
    for (const auto& [uuid, errors] : read.errors) EXPECT_EQ(errors, errors_.at(uuid)) << size;
    for (const auto& [uuid, fault] : read.faults) EXPECT_EQ(fault.xid, away_.at(uuid).xid) << size;
  }
}

TEST_F(FaultStoreTest, ForeignContent_DamageIsReported) {
  saveKnown(path_, withFaults(faults_));
  const std::string boot = text().substr(0, text().find('\n') + 1);
  for (const char* bad :
       {"errors GPU-1 7 1\nend 1\n", "errors GPU-1 7 2 0\nend 1\n", "errors GPU-1 -7 1 0\nend 1\n",
        "errors GPU-1 7 1 0 5\nend 1\n", "away GPU-1 5 6\nend 1\n", "errors GPU-1 7 1 0\nend 2\n",
        "end 1\n", "errors GPU-1 99999999999999999999 1 0\nend 1\n"}) {
    write(boot + bad);
    EXPECT_NE(load().damage, "") << bad;
  }
  write(boot + "errors GPU-1 7 1 0\nend 1\n");
  EXPECT_EQ(load().damage, "") << "the control";
  for (const char* bad : {"another\n", "\n", "{}\n", ""}) {
    write(bad);
    EXPECT_EQ(load().damage, "its first line names no boot of the machine") << bad;
  }
}

TEST_F(FaultStoreTest, PathIsFolder_KeptAndNamedAsDamage) {
  fs::create_directories(path_ + "/in the way");
  saveKnown(path_, withFaults(faults_));
  saveKnown(path_, {});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  EXPECT_TRUE(load().faults.empty());
  EXPECT_NE(load().damage.find(path_), std::string::npos) << load().damage;
}

// A card that does not answer has a fault that is as new with each look.
TEST_F(FaultStoreTest, FaultUnder30sLater_NotRewritten) {
  KnownFaults later = faults_;
  const auto differs = [](const KnownFaults& saved, const KnownFaults& now) {
    return differ(withFaults(saved), withFaults(now));
  };
  later["GPU-1"].since_ms += 29'999;
  EXPECT_FALSE(differs(faults_, later));
  later["GPU-1"].since_ms += 1;
  EXPECT_TRUE(differs(faults_, later));
  EXPECT_TRUE(differs(faults_, {}));
  EXPECT_TRUE(differs({}, faults_));
  EXPECT_TRUE(differs(faults_, {{"GPU-1", {63, 1000}}, {"GPU-2", {79, 2000}}}));
  EXPECT_TRUE(differs(faults_, {{"GPU-1", {48, 1000, 0, 9}}, {"GPU-2", {79, 2000}}}));
}

TEST_F(FaultStoreTest, ErrorChangeOrDamage_IsRewritten) {
  PersistedDeviceState saved, now;
  saved.errors = now.errors = errors_;
  EXPECT_FALSE(differ(saved, now));
  now.errors["GPU-1"].uncorrected = 8;
  EXPECT_TRUE(differ(saved, now));
  now.errors = errors_;
  now.driver = "2";
  EXPECT_TRUE(differ(saved, now));
  now.driver = saved.driver;
  saved.this_boot = false;
  EXPECT_TRUE(differ(saved, now));
  saved.this_boot = true;
  saved.damage = "it was cut short";
  EXPECT_TRUE(differ(saved, now));
}

TEST_F(FaultStoreTest, AnyErrorOrFault_AnyIsTrue) {
  EXPECT_FALSE(PersistedDeviceState().any());
  EXPECT_TRUE(withFaults(faults_).any());
  for (const driver::MemoryErrors& one :
       {driver::MemoryErrors{1, {}, {}}, {0, true, {}}, {0, false, true}, {0, false, false}}) {
    PersistedDeviceState known;
    known.errors["GPU-1"] = one;
    EXPECT_EQ(known.any(), one != (driver::MemoryErrors{0, false, false}));
  }
}

TEST_F(FaultStoreTest, TouchedFiles_LastLookIsNewest) {
  const std::string mark = dir_ + "/watched";
  EXPECT_EQ(lastLook(path_, mark), 0);
  const auto touch = [](const std::string& file, std::time_t at) {
    std::ofstream(file) << "x";
    const timespec times[] = {{at, 0}, {at, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  };
  touch(path_, 1000);
  EXPECT_EQ(lastLook(path_, mark), 1000);
  touch(mark, 2000);
  EXPECT_EQ(lastLook(path_, mark), 2000);
  touch(path_, std::time(nullptr) + 3600);
  EXPECT_EQ(lastLook(path_, mark), 0) << "the clock was set back";
  EXPECT_EQ(spanWords(1000, 2000), "between 1970-01-01T00:16:40Z and 1970-01-01T00:33:20Z");
  EXPECT_EQ(spanWords(0, 2000), "before 1970-01-01T00:33:20Z");
}

}  // namespace
}  // namespace divvy::agent
