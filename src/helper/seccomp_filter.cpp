#include "seccomp_filter.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace divvy::helper {
namespace {

// Calls for answering requests, and those of NVML and the C library below that. Names that an
// architecture lacks are negative, and are left out.
constexpr std::array kAlways{
    // memory
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    // threads, time and the identity of this process
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep), SCMP_SYS(clock_getres), SCMP_SYS(getrandom), SCMP_SYS(uname),
    SCMP_SYS(sysinfo), SCMP_SYS(getcpu),
    // files, by Landlock's rules
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(read), SCMP_SYS(pread64),
    SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(fsync), SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(dup), SCMP_SYS(access),
    SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), SCMP_SYS(rmdir), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename),
    SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat),
    // sockets and waiting
    SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(shutdown),
    SCMP_SYS(getsockopt), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(inotify_init1), SCMP_SYS(inotify_add_watch), SCMP_SYS(pidfd_open)};

// Signals: the first argument is the number of a process or thread group.
constexpr std::array kOnlyToUs{SCMP_SYS(kill), SCMP_SYS(tgkill)};

// F_SETOWN and F_SETSIG are left out: they send any signal to any process.
constexpr std::array kOfDescriptors{
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL,    F_GETLK,
    F_SETLK, F_SETLKW,        36,      37,      38,      F_GET_SEALS};

class Rules {
 public:
  explicit Rules(void* filter) : filter_(filter) {}

  template <typename... Tests>
  void allow(int call, Tests... tests) {
    if (fault_ == 0 && call >= 0)
      fault_ = seccomp_rule_add(filter_, SCMP_ACT_ALLOW, call, sizeof...(tests), tests...);
  }
  // ENOSYS makes the C library use the older call.
  void lacks(int call) {
    if (fault_ == 0) fault_ = seccomp_rule_add(filter_, SCMP_ACT_ERRNO(ENOSYS), call, 0);
  }
  int fault() const { return fault_; }

 private:
  void* filter_;
  int fault_ = 0;
};

// seccomp.h's macros leave out the last member, which clang warns about.
scmp_arg_cmp argument(unsigned place, scmp_compare how, scmp_datum_t value,
                      scmp_datum_t masked = 0) {
  return {place, how, value, masked};
}

void allowAll(Rules* rules) {
  for (const int call : kAlways) rules->allow(call);
  const auto pid = static_cast<scmp_datum_t>(getpid());
  for (const int call : kOnlyToUs) rules->allow(call, argument(0, SCMP_CMP_EQ, pid));
  for (const scmp_datum_t self : {scmp_datum_t{0}, pid})
    rules->allow(SCMP_SYS(prlimit64), argument(0, SCMP_CMP_EQ, self));
  rules->allow(SCMP_SYS(socket), argument(0, SCMP_CMP_EQ, AF_UNIX));
  for (const int command : kOfDescriptors)
    rules->allow(SCMP_SYS(fcntl), argument(1, SCMP_CMP_EQ, static_cast<scmp_datum_t>(command)));
  // Permits threads, but no processes or namespaces. A filter cannot read clone3's flags.
  constexpr scmp_datum_t kSpaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  rules->allow(SCMP_SYS(clone),
               argument(0, SCMP_CMP_MASKED_EQ, kSpaces | CLONE_THREAD, CLONE_THREAD));
  rules->lacks(SCMP_SYS(clone3));
  // NVIDIA's calls are of class F. Of other classes one sets the receiver of a signal (FIOSETOWN).
  constexpr scmp_datum_t kClass = 0xff00;
  rules->allow(SCMP_SYS(ioctl), argument(1, SCMP_CMP_MASKED_EQ, kClass, scmp_datum_t{'F'} << 8));
}

}  // namespace

Result<void> dropCapabilities() {
  __user_cap_header_struct whose{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &whose, none.data()) == 0) return {};
  const int why = errno;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (syscall(SYS_capget, &whose, held.data()) == 0 && std::memcmp(&held, &none, sizeof none) == 0)
    return {};
  errno = why;
  return Error{ErrorCode::kUnsupported,
               "giving capabilities up: " + std::string(std::strerror(errno))};
}

Result<void> narrow() {
  const std::unique_ptr<void, void (*)(void*)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                      seccomp_release);
  if (!filter) return Error{ErrorCode::kUnsupported, "no filter of system calls can be made"};
  int fault = seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  Rules rules(filter.get());
  allowAll(&rules);
  if (fault == 0) fault = rules.fault();
  if (fault == 0) fault = seccomp_load(filter.get());
  if (fault == 0) return {};
  return Error{ErrorCode::kUnsupported,
               "the filter of system calls is refused: " + std::string(std::strerror(-fault))};
}

}  // namespace divvy::helper
