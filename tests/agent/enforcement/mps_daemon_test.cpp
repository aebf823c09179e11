#include "enforcement/mps_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_mps.h"

namespace divvy::agent {
namespace {

using test::FakeMps;
using ::testing::HasSubstr;

TEST(MpsDaemon, Running_IsFound) {
  FakeMps mps;
  mps.start();
  const MpsDaemon found = findMpsDaemon(mps.dir(), getuid());
  EXPECT_EQ(found.missing, "");
  EXPECT_EQ(found.pid, mps.pid());
  EXPECT_EQ(found.dir, mps.dir());
}

TEST(MpsDaemon, RunningWithFifoControl_IsFound) {
  FakeMps mps;
  mps.start();
  unlink(mps.control().c_str());
  ASSERT_EQ(mkfifo(mps.control().c_str(), 0600), 0);
  EXPECT_EQ(findMpsDaemon(mps.dir(), getuid()).pid, mps.pid());
}

// The daemon leaves its socket behind when it is killed.
TEST(MpsDaemon, Killed_IsNotFound) {
  FakeMps mps;
  mps.start();
  mps.kill();
  const MpsDaemon found = findMpsDaemon(mps.dir(), getuid());
  EXPECT_EQ(found.pid, 0);
  EXPECT_THAT(found.missing, HasSubstr(mps.dir()));
}

TEST(MpsDaemon, PidOfOtherProgram_IsNotFound) {
  FakeMps mps;
  mps.start("nvidia-cuda-mps-server");
  EXPECT_EQ(findMpsDaemon(mps.dir(), getuid()).pid, 0);
}

TEST(MpsDaemon, DirectoryOnly_IsNotFound) {
  const FakeMps mps;
  EXPECT_EQ(findMpsDaemon(mps.dir(), getuid()).pid, 0);
  EXPECT_EQ(findMpsDaemon(mps.dir() + "/none", getuid()).pid, 0);
  EXPECT_EQ(findMpsDaemon("relative", getuid()).pid, 0);
}

TEST(MpsDaemon, InvalidPidFile_IsNotFound) {
  FakeMps mps;
  mps.start();
  for (const char* text : {"", "x", "-1", "0", "99999999999999", "1"}) {
    mps.writePidFile(text);
    EXPECT_EQ(findMpsDaemon(mps.dir(), getuid()).pid, 0) << text;
  }
}

// Nobody would ever write into it: opening it for reading would wait for ever.
TEST(MpsDaemon, FifoAsPidFile_DoesNotBlock) {
  FakeMps mps;
  mps.start();
  unlink(mps.pidFile().c_str());
  ASSERT_EQ(mkfifo(mps.pidFile().c_str(), 0600), 0);
  EXPECT_EQ(findMpsDaemon(mps.dir(), getuid()).pid, 0);
}

TEST(MpsDaemon, OtherUser_IsNotFound) {
  if (getuid() == 0) GTEST_SKIP() << "root's daemons serve everybody: run as a user";
  FakeMps mps;
  mps.start();
  EXPECT_EQ(findMpsDaemon(mps.dir(), getuid() + 1).pid, 0);
}

}  // namespace
}  // namespace divvy::agent
