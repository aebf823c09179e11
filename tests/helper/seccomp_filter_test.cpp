#include "seccomp_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/fd.h"

namespace divvy::helper {
namespace {

struct Try {
  const char* name;
  long (*call)(pid_t other);
  bool allowed_before;  // whether a process of this test may do it without the filter
};

// A child ends at once: only whether it was made counts.
long ended(long child) {
  if (child == 0) _exit(0);
  return child;
}

long newProcessByClone3(unsigned long long flags) {
  unsigned long long arguments[8] = {flags, 0, 0, 0, SIGCHLD, 0, 0, 0};
  const long child = ended(syscall(SYS_clone3, arguments, sizeof arguments));
  // "The kernel has no such call" is a refusal, too: the C library starts threads without it then.
  if (child < 0 && errno == ENOSYS) errno = EPERM;
  return child;
}

constexpr Try kRefused[] = {
    {"a socket of the network", [](pid_t) -> long { return socket(AF_INET, SOCK_STREAM, 0); },
     true},
    {"a socket of the kernel", [](pid_t) -> long { return socket(AF_NETLINK, SOCK_RAW, 0); }, true},
    {"a limit of another process",
     [](pid_t other) {
       rlimit limit{};
       return syscall(SYS_prlimit64, other, RLIMIT_CPU, nullptr, &limit);
     },
     true},
    {"another's priority",
     [](pid_t other) -> long {
       const auto whose = static_cast<id_t>(other);
       return setpriority(PRIO_PROCESS, whose, getpriority(PRIO_PROCESS, whose));
     },
     true},
    {"another's processors",
     [](pid_t other) -> long {
       cpu_set_t all;
       if (sched_getaffinity(0, sizeof all, &all) != 0) return 0;
       return sched_setaffinity(other, sizeof all, &all);
     },
     true},
    {"a signal to another", [](pid_t other) -> long { return kill(other, 0); }, true},
    {"a signal to this group", [](pid_t) -> long { return kill(0, 0); }, true},
    {"a signal to a thread of another",
     [](pid_t other) { return syscall(SYS_tgkill, other, other, 0); }, true},
    {"a descriptor that signals another",
     [](pid_t other) -> long { return fcntl(0, F_SETOWN, other); }, true},
    {"the signal of a descriptor", [](pid_t) -> long { return fcntl(0, F_SETSIG, SIGKILL); }, true},
    {"a socket that signals another",
     [](pid_t other) -> long {
       const Fd own(socket(AF_UNIX, SOCK_STREAM, 0));
       return ioctl(own.get(), FIOSETOWN, &other);
     },
     true},
    {"a process", [](pid_t) { return ended(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }, true},
    {"a process by the newer call", [](pid_t) { return newProcessByClone3(0); }, true},
    {"a process in a namespace",
     [](pid_t) { return ended(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }, false},
    {"a process in a namespace by the newer call",
     [](pid_t) { return newProcessByClone3(CLONE_NEWUSER); }, false},
    {"a namespace", [](pid_t) -> long { return unshare(CLONE_FILES | CLONE_NEWUSER); }, false},
    {"another program",
     [](pid_t) -> long {
       char* const words[] = {nullptr};
       return execve("/none/of/this", words, words);
     },
     false},
    {"tracing", [](pid_t other) { return ptrace(PTRACE_ATTACH, other, nullptr, nullptr); }, false},
    {"memory of another",
     [](pid_t other) { return syscall(SYS_process_vm_readv, other, nullptr, 0, nullptr, 0, 0); },
     false},
    {"a mount", [](pid_t) -> long { return mount("", "/none/of/this", "", MS_BIND, ""); }, false},
    {"a program in the kernel", [](pid_t) { return syscall(SYS_bpf, 99, nullptr, 0); }, false},
    {"keys", [](pid_t) { return syscall(SYS_keyctl, 0, -3, 0); }, false},
    {"another root", [](pid_t) -> long { return chroot("/"); }, false},
    {"a call that no list names", [](pid_t) { return syscall(SYS_personality, 0xffffffff); }, true},
    {"a call that no kernel has", [](pid_t) { return syscall(4000); }, false}};

// What answering needs; 0 where all of it is allowed.
int needed(pid_t other) {
  const Fd own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, other, 0)));
  if (!own.valid() || !process.valid()) return 1;
  if (syscall(SYS_pidfd_send_signal, process.get(), 0, nullptr, 0) == 0 || errno != EPERM) return 2;
  if (kill(getpid(), 0) != 0 || fcntl(own.get(), F_GETFD) != FD_CLOEXEC) return 3;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0) return 4;
  int answer = 0;
  std::thread([&] { answer = 42; }).join();
  return answer == 42 ? 0 : 5;
}

// In a child, narrowed or not: runs `work`, whose result is the answer. 100: it could not be.
template <typename Work>
int inChild(bool narrowing, Work work) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (narrowing && !narrow()) _exit(100);
    _exit(work(parent));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool isRefused(const Try& one, bool narrowing) {
  return inChild(narrowing, [&](pid_t parent) {
           errno = 0;
           return one.call(parent) < 0 && errno == EPERM ? 1 : 0;
         }) == 1;
}

TEST(SeccompFilter, UnlistedCalls_RefusedWithEperm) {
  for (const Try& one : kRefused) EXPECT_TRUE(isRefused(one, true)) << one.name;
}

TEST(SeccompFilter, WithoutFilter_SameCallsNotRefused) {
  for (const Try& one : kRefused) {
    if (one.allowed_before) {
      EXPECT_FALSE(isRefused(one, false)) << one.name;
    }
  }
}

TEST(SeccompFilter, CallsForAnswering_Allowed) {
  EXPECT_EQ(inChild(true, needed), 0);
}

}  // namespace
}  // namespace divvy::helper
