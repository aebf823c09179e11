#include "filter.h"

#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace divvy::helper {
namespace {

constexpr std::array kNever{
    // other programs
    SCMP_SYS(execve), SCMP_SYS(execveat),
    // other processes
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kcmp),
    SCMP_SYS(setpriority), SCMP_SYS(sched_setaffinity),
    // other places
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen),
    SCMP_SYS(fsmount), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(mknodat),
    // the kernel
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup), SCMP_SYS(userfaultfd),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(reboot), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(swapon),
    SCMP_SYS(quotactl), SCMP_SYS(settimeofday)};

// Signals go by the first of these arguments: a process' or thread group's number.
constexpr std::array kOnlyToUs{SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                               SCMP_SYS(rt_tgsigqueueinfo)};

}  // namespace

Result<void> narrow() {
  const std::unique_ptr<void, void (*)(void*)> filter(seccomp_init(SCMP_ACT_ALLOW),
                                                      seccomp_release);
  if (!filter) return Error{ErrorCode::kUnsupported, "no filter of system calls can be made"};
  const std::uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  int fault = 0;
  const auto add = [&](int call) {
    // Some architectures lack some of them.
    if (fault == 0 && call >= 0) fault = seccomp_rule_add(filter.get(), refuse, call, 0);
  };
  for (const int call : kNever) add(call);
  add(SCMP_SYS(tkill));
  const auto pid = static_cast<scmp_datum_t>(getpid());
  for (const int call : kOnlyToUs)
    if (fault == 0)
      fault = seccomp_rule_add(filter.get(), refuse, call, 1, SCMP_A0(SCMP_CMP_NE, pid));
  if (fault == 0)
    fault =
        seccomp_rule_add(filter.get(), refuse, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  if (fault == 0) fault = seccomp_load(filter.get());
  if (fault == 0) return {};
  return Error{ErrorCode::kUnsupported,
               "the filter of system calls is refused: " + std::string(std::strerror(-fault))};
}

}  // namespace divvy::helper
