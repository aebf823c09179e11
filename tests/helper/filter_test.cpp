#include "filter.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"

namespace divvy::helper {
namespace {

// What of this is refused in a child that has narrowed itself: its exit status is the number of
// the first that is not; 0: all are, and what it needs is not.
int narrowed(bool narrowing) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (narrowing && !narrow()) _exit(100);
    const auto refused = [](long result) { return result < 0 && errno == EPERM; };
    if (!refused(socket(AF_INET, SOCK_STREAM, 0))) _exit(1);
    if (!refused(socket(AF_NETLINK, SOCK_RAW, 0))) _exit(2);
    if (!refused(kill(parent, 0))) _exit(3);
    char* const words[] = {nullptr};
    if (!refused(execve("/bin/true", words, words))) _exit(4);
    if (!refused(ptrace(PTRACE_ATTACH, parent, nullptr, nullptr))) _exit(5);
    if (!refused(syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0))) _exit(6);
    const Fd own(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    const Fd other(static_cast<int>(syscall(SYS_pidfd_open, parent, 0)));
    if (!own.valid() || !other.valid() || kill(getpid(), 0) != 0) _exit(7);
    if (!refused(syscall(SYS_pidfd_send_signal, other.get(), 0, nullptr, 0))) _exit(8);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HelperFilter, NoNetworkNoProgramsNobodyElse) {
  EXPECT_EQ(narrowed(true), 0);
}

TEST(HelperFilter, WithoutItTheFirstOfTheseIsAllowed) {
  EXPECT_EQ(narrowed(false), 1);
}

}  // namespace
}  // namespace divvy::helper
