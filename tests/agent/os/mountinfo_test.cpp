#include "os/mountinfo.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "../cost_bound.h"
#include "enforcement/page_visibility.h"
#include "tenant/tenant.h"

namespace divvy::agent {
namespace {

const std::string kPoint = "/run/divvy/tenant/control";
const MountedFile kOurs{"0:26", "/divvy/gpu/tenants/abc/control"};

TEST(MountedFile, MountPoint_FileFromMountinfo) {
  const std::string text =
      "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "40 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs tmpfs rw\n";
  EXPECT_EQ(mountedAt(text, kPoint), kOurs);
  EXPECT_EQ(mountedAt(text, "/run/divvy/tenant/report"), std::nullopt);
  EXPECT_EQ(mountedAt("", kPoint), std::nullopt);
}

TEST(MountedFile, OtherTenantOrDevice_NotOurs) {
  for (const char* line :
       {"40 21 0:26 /divvy/gpu/tenants/abcd/control /run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:27 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:26 /divvy/gpu/tenants/abc/control//deleted /run/divvy/tenant/control ro - t t\n",
        "40 21 0:26 /divvy/gpu/tenants/abc/control /x/run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:26 /divvy/gpu/tenants/abc /run/divvy/tenant ro - tmpfs t rw\n",
        "forty 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro\n", "40 21\n"})
    EXPECT_NE(mountedAt(line, kPoint), kOurs) << line;
}

TEST(MountedFile, SeveralMounts_LastWins) {
  const std::string text =
      "40 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs t rw\n"
      "41 40 0:30 /other /run/divvy/tenant/control rw - tmpfs t rw\n";
  EXPECT_NE(mountedAt(text, kPoint), kOurs);
}

TEST(MountedFile, EscapedPath_IsDecoded) {
  EXPECT_EQ(mountedAt("40 21 0:26 /a\\040b /c\\134d rw - t t\n", "/c\\d"),
            (MountedFile{"0:26", "/a b"}));
}

const std::string kMounts =
    "900 850 0:99 / / rw - overlay overlay rw\n"
    "901 900 0:100 / /proc rw - proc proc rw\n"
    "902 900 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs t rw\n";

TEST(MountedFile, PathLookup_FollowsMountTree) {
  EXPECT_EQ(fileAt(kMounts, kPoint), kOurs);
  EXPECT_EQ(fileAt(kMounts, "/etc/passwd"), (MountedFile{"0:99", "/etc/passwd"}));
  EXPECT_EQ(fileAt(kMounts, "/proc/self"), (MountedFile{"0:100", "/self"}));
  EXPECT_EQ(fileAt("", kPoint), std::nullopt);
  EXPECT_EQ(fileAt("902 900 0:26 /control /run/divvy/tenant/control ro - tmpfs t rw\n", kPoint),
            std::nullopt)
      << "a process with another root";
}

TEST(MountedFile, MountOverFileOrParent_HidesIt) {
  EXPECT_EQ(fileAt(kMounts + "903 902 0:30 /other /run/divvy/tenant/control rw - t t\n", kPoint),
            (MountedFile{"0:30", "/other"}));
  EXPECT_EQ(fileAt(kMounts + "903 900 0:30 /v /run/divvy rw - t t\n", kPoint),
            (MountedFile{"0:30", "/v/tenant/control"}));
  EXPECT_EQ(fileAt("903 900 0:30 /v /run/divvy rw - t t\n" + kMounts, kPoint),
            (MountedFile{"0:30", "/v/tenant/control"}))
      << "whatever the order of lines";
  // Ours in a folder that is mounted itself.
  EXPECT_EQ(
      fileAt("900 850 0:99 / / rw - overlay o rw\n"
             "903 900 0:30 / /run rw - t t\n"
             "902 903 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - t t\n",
             kPoint),
      kOurs);
  // By a link in the image: /run/divvy is /data, and /data a volume.
  const std::string linked =
      "900 850 0:99 / / rw - overlay o rw\n"
      "902 900 0:26 /divvy/gpu/tenants/abc/control /data/tenant/control ro - t t\n"
      "903 900 0:30 /v /data rw - t t\n";
  EXPECT_NE(fileAt(linked, kPoint), kOurs);
}

TEST(MountedFile, CircularMounts_LookupEnds) {
  EXPECT_TRUE(
      fileAt("1 9 0:1 / / rw - t t\n2 1 0:2 / /run rw - t t\n1 2 0:3 / /run rw - t t\n", kPoint));
}

// A process in a user namespace of its own mounts as often as it likes; 1 MiB of lines is read.
TEST(MountedFile, ManyMounts_CostStaysInBound) {
  std::string mounts = "10 1 0:9 / / rw - t t\n";
  for (int i = 11; mounts.size() < (1u << 20); ++i)
    mounts += std::to_string(i) + " 1 0:9 / / rw - t t\n";
  std::optional<MountedFile> found;
  costsAtMost(std::chrono::milliseconds(20), "fileAt", [&] { found = fileAt(mounts, kPoint); });
  EXPECT_EQ(found, (MountedFile{"0:9", std::string(kPoint)}));
}

TEST(PageVisibility, MountedPages_OwnOthersOrUnknown) {
  const auto mounts = [](const std::string& of_report) {
    return "900 850 0:99 / / rw - overlay o rw\n"
           "902 900 0:26 /t/abc/control /run/divvy/tenant/control ro - t t\n"
           "903 900 0:26 " +
           of_report +
           " /run/divvy/tenant/report rw - t t\n"
           "904 900 0:26 /t/abc/work /run/divvy/tenant/work rw - t t\n";
  };
  const MountedFile control{"0:26", "/t/abc/control"};
  EXPECT_EQ(pageVisibility(mounts("/t/abc/report"), control), PageVisibility::kOurs);
  EXPECT_EQ(pageVisibility(mounts("/t/other/report"), control), PageVisibility::kOthers);
  EXPECT_EQ(pageVisibility(kMounts, control), PageVisibility::kOthers)
      << "its files are the image's";
  EXPECT_EQ(pageVisibility("", control), PageVisibility::kUntold);
}

class PageVisibilityMonitorTest : public testing::Test {
 protected:
  bool good(int pid, std::uint64_t start = 1) { return watch_.good(tenant_, pid, start); }

  asio::io_context loop_;
  Tenant tenant_{loop_};
  std::map<int, PageVisibility> seen_;
  unsigned asked_ = 0;
  PageVisibilityMonitor watch_{[this](const Tenant&, int pid) {
    ++asked_;
    return seen_[pid];
  }};
};

TEST_F(PageVisibilityMonitorTest, UnknownPages_TrustedOnlyAfterOwn) {
  seen_ = {{1, PageVisibility::kUntold}, {2, PageVisibility::kOurs}};
  watch_.begin();
  EXPECT_FALSE(good(1));
  EXPECT_TRUE(good(2));
  seen_[2] = PageVisibility::kUntold;
  watch_.begin();
  EXPECT_TRUE(good(2));
  EXPECT_FALSE(good(2, 5)) << "another process of that number";
  seen_[2] = PageVisibility::kOthers;
  watch_.begin();
  EXPECT_FALSE(good(2, 5));
}

TEST_F(PageVisibilityMonitorTest, ManyProcesses_CheckedInTurns) {
  constexpr int kProcesses = 5 * PageVisibilityMonitor::kPerLook;
  for (unsigned look = 0; look < 7; ++look) {
    asked_ = 0;
    watch_.begin();
    for (int pid = 1; pid <= kProcesses; ++pid) good(pid);
    EXPECT_LE(asked_, PageVisibilityMonitor::kPerLook);
  }
  for (int pid = 1; pid <= kProcesses; ++pid) seen_[pid] = PageVisibility::kOthers;
  for (unsigned look = 0; look < 14; ++look) {
    watch_.begin();
    for (int pid = 1; pid <= kProcesses; ++pid) good(pid);
  }
  watch_.begin();
  for (int pid = 1; pid <= kProcesses; ++pid) EXPECT_FALSE(good(pid)) << pid;
}

TEST(MountedFile, MountId_PlaceInFileSystem) {
  const std::string text =
      "21 1 8:1 / / rw - ext4 d rw\n"
      "30 21 0:26 / /run rw - tmpfs t rw\n"
      "31 21 8:1 /srv/rt /mnt rw - ext4 d rw\n";
  EXPECT_EQ(placeIn(text, 30, "/run/divvy/control"), (MountedFile{"0:26", "/divvy/control"}));
  EXPECT_EQ(placeIn(text, 31, "/mnt/control"), (MountedFile{"8:1", "/srv/rt/control"}));
  EXPECT_EQ(placeIn(text, 21, "/etc/passwd"), (MountedFile{"8:1", "/etc/passwd"}));
  EXPECT_EQ(placeIn(text, 31, "/mntcontrol"), std::nullopt);
  EXPECT_EQ(placeIn(text, 99, "/etc/passwd"), std::nullopt);
}

TEST(MountedFile, OwnProcess_NothingIsMounted) {
  std::string name = ::testing::TempDir() + "mounted-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  std::ofstream(name + "/control") << "x";
  const std::optional<MountedFile> place = placeOf(name + "/control");
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->path.ends_with("/control"));
  EXPECT_FALSE(hasMounted(getpid(), kPoint, *place));
  EXPECT_FALSE(hasMounted(0, kPoint, *place));
  EXPECT_FALSE(placeOf(name + "/none"));
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace divvy::agent
