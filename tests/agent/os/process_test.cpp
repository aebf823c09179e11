#include "agent/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "agent/file_lock.h"

namespace divvy::agent {
namespace {

// A child that does nothing until it is killed.
class Sleeper {
 public:
  explicit Sleeper(const char* tenant_dir = nullptr) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      if (tenant_dir != nullptr) setenv("DIVVY_TENANT_DIR", tenant_dir, 1);
      dup2(ends[1], STDOUT_FILENO);
      execl("/bin/sh", "sh", "-c", "echo up; exec 1>&-; read never", nullptr);
      _exit(127);
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  ~Sleeper() { end(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void killOnly() const { kill(pid_, SIGKILL); }
  int pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Children read from stdin for ever.
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }
};

TEST_F(ProcessTest, StartTime_DistinguishesReusedPid) {
  const std::uint64_t own = startTimeOf(getpid());
  EXPECT_NE(own, 0u);
  EXPECT_TRUE(openProcess({getpid(), own}).valid());
  EXPECT_FALSE(openProcess({getpid(), own + 1}).valid());
  EXPECT_EQ(startTimeOf(0), 0u);
}

TEST_F(ProcessTest, UnreapedExit_PidfdReportsEnd) {
  const Sleeper sleeper;
  const Fd pidfd = openProcess({sleeper.pid(), startTimeOf(sleeper.pid())});
  ASSERT_TRUE(pidfd.valid());
  EXPECT_FALSE(hasEnded(pidfd.get()));
  sleeper.killOnly();
  pollfd waiting{pidfd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 20000), 1);
  EXPECT_TRUE(hasEnded(pidfd.get()));
}

TEST_F(ProcessTest, StoppedProcess_IsStopped) {
  const Sleeper sleeper;
  EXPECT_FALSE(isStopped(sleeper.pid()));
  kill(sleeper.pid(), SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(sleeper.pid(), &status, WUNTRACED), sleeper.pid());
  EXPECT_TRUE(isStopped(sleeper.pid()));
  kill(sleeper.pid(), SIGCONT);
  ASSERT_EQ(waitpid(sleeper.pid(), &status, WCONTINUED), sleeper.pid());
  EXPECT_FALSE(isStopped(sleeper.pid()));
  EXPECT_FALSE(isStopped(0));
}

TEST_F(ProcessTest, TenantDirectory_ExactMatchOnly) {
  const Sleeper ours("/run/x/tenants/abc");
  const Sleeper other("/run/x/tenants/abcd");
  const Sleeper none;
  const std::vector<ProcessId> found = processesIn("/run/x/tenants/abc", getuid());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, ours.pid());
  EXPECT_EQ(found[0].start_time, startTimeOf(ours.pid()));
}

TEST_F(ProcessTest, OtherUser_ProcessesSkipped) {
  const Sleeper ours("/run/x/tenants/abc");
  EXPECT_TRUE(processesIn("/run/x/tenants/abc", getuid() + 12345).empty());
}

TEST(LockPath, HeldLock_SecondAttemptFails) {
  std::string pattern = "/tmp/divvy-lock-XXXXXX";
  const std::string dir = mkdtemp(pattern.data());
  const std::string path = dir + "/agent.lock";
  {
    const Fd first = lockPath(path, false, false);
    ASSERT_TRUE(first.valid());
    EXPECT_FALSE(lockPath(path, false, false).valid());
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  EXPECT_TRUE(lockPath(path, false, false).valid());
  unlink(path.c_str());
  rmdir(dir.c_str());
}

// A lock on a file that was removed while we waited for it protects nothing.
TEST(LockPath, FileReplaced_NewFileIsLocked) {
  std::string pattern = "/tmp/divvy-lock-XXXXXX";
  const std::string dir = mkdtemp(pattern.data());
  const std::string path = dir + "/agent.lock";
  Fd first = lockPath(path, false, false);
  unlink(path.c_str());
  const Fd second = lockPath(path, false, false);
  ASSERT_TRUE(second.valid());
  first.reset();
  EXPECT_FALSE(lockPath(path, false, false).valid());
  unlink(path.c_str());
  rmdir(dir.c_str());
}

}  // namespace
}  // namespace divvy::agent
