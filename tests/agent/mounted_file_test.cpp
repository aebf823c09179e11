#include "mounted_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace divvy::agent {
namespace {

const std::string kPoint = "/run/divvy/tenant/control";
const MountedFile kOurs{"0:26", "/divvy/gpu/tenants/abc/control"};

TEST(MountedFile, IsWhatTheKernelSaysIsMountedThere) {
  const std::string text =
      "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "40 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs tmpfs rw\n";
  EXPECT_EQ(mountedAt(text, kPoint), kOurs);
  EXPECT_EQ(mountedAt(text, "/run/divvy/tenant/report"), std::nullopt);
  EXPECT_EQ(mountedAt("", kPoint), std::nullopt);
}

TEST(MountedFile, AnothersIsNotOurs) {
  for (const char* line :
       {"40 21 0:26 /divvy/gpu/tenants/abcd/control /run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:27 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:26 /divvy/gpu/tenants/abc/control//deleted /run/divvy/tenant/control ro - t t\n",
        "40 21 0:26 /divvy/gpu/tenants/abc/control /x/run/divvy/tenant/control ro - tmpfs t rw\n",
        "40 21 0:26 /divvy/gpu/tenants/abc /run/divvy/tenant ro - tmpfs t rw\n",
        "forty 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro\n", "40 21\n"})
    EXPECT_NE(mountedAt(line, kPoint), kOurs) << line;
}

TEST(MountedFile, OfSeveralTheLastIsOnTop) {
  const std::string text =
      "40 21 0:26 /divvy/gpu/tenants/abc/control /run/divvy/tenant/control ro - tmpfs t rw\n"
      "41 40 0:30 /other /run/divvy/tenant/control rw - tmpfs t rw\n";
  EXPECT_NE(mountedAt(text, kPoint), kOurs);
}

TEST(MountedFile, BlanksInPathsAreUnderstood) {
  EXPECT_EQ(mountedAt("40 21 0:26 /a\\040b /c\\134d rw - t t\n", "/c\\d"),
            (MountedFile{"0:26", "/a b"}));
}

TEST(MountedFile, APlaceIsThatInItsFileSystem) {
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

TEST(MountedFile, HereNothingIsMountedWhereContainersHaveIt) {
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
