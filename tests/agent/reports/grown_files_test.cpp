// What tenants' processes write beyond what the agent made.
#include "reports/grown_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "ledger/tenant_ledger.h"
#include "sandbox.h"
#include "tenant_folder.h"

namespace divvy::agent {
namespace {

class GrownFilesTest : public testing::Test {
 protected:
  struct stat statOf(const char* name) const {
    struct stat info {};
    EXPECT_EQ(stat((dir_ + "/" + name).c_str(), &info), 0);
    return info;
  }
  void cut() {
    std::optional<GrownFile> file = grownIn(dir_);
    ASSERT_TRUE(file);
    cutter_.cut(std::move(*file));
    EXPECT_TRUE(test::eventually([&] { return !grownIn(dir_); }));
  }

  const test::TenantFolder folder_;
  const std::string dir_ = folder_.path();
  FileTruncator cutter_;
};

TEST_F(GrownFilesTest, UnchangedFiles_NotGrown) {
  EXPECT_FALSE(grownIn(dir_));
  EXPECT_FALSE(grownIn(dir_ + "/none"));
}

// Regression: a tenant filled the node's /run by what it appended to its report.
TEST_F(GrownFilesTest, AppendedReport_IsTruncated) {
  const off_t made = statOf("report").st_size;
  const std::string path = dir_ + "/report";
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string more(5 << 20, 'x');
  ASSERT_EQ(pwrite(fd.get(), more.data(), more.size(), made), static_cast<ssize_t>(more.size()));
  const std::optional<GrownFile> file = grownIn(dir_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, "report");
  EXPECT_EQ(describe(*file), "its file report has " + formatBytes(file->has) + ", and may have " +
                                 formatBytes({static_cast<std::uint64_t>(made)}));
  cut();
  EXPECT_EQ(statOf("report").st_size, made);
  EXPECT_TRUE(ledger::TenantLedger::adopt(dir_));
}

TEST_F(GrownFilesTest, StorageBeyondEnd_IsFreed) {
  const std::string path = dir_ + "/work";
  const off_t made = statOf("work").st_size;
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, made, 8 << 20), 0);
  ASSERT_EQ(statOf("work").st_size, made);
  cut();
  EXPECT_LT(statOf("work").st_blocks * 512, made + (1 << 20));
}

TEST_F(GrownFilesTest, LinkInPlace_IsLeftAlone) {
  std::filesystem::remove(dir_ + "/report");
  std::filesystem::create_symlink("/dev/zero", dir_ + "/report");
  EXPECT_FALSE(grownIn(dir_));
}

}  // namespace
}  // namespace divvy::agent
