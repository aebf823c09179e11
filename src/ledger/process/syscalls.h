// The few kernel services of the tenant half, by number. libc's wrappers of these are cancellation
// points, are interposed by other libraries, or (fstat) have symbol versions above GLIBC_2.17.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace divvy::ledger {

// pidfd_open has this number on all architectures since Linux 5.3; older headers lack it.
inline constexpr long kSysPidfdOpen = 434;
inline constexpr int kMadvWipeOnFork = 18;

inline int sysOpen(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}
inline void sysClose(int fd) {
  syscall(SYS_close, fd);
}
inline int sysFstat(int fd, struct stat* out) {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}
inline int sysGetpid() {
  return static_cast<int>(syscall(SYS_getpid));
}
inline void sysYield() {
  syscall(SYS_sched_yield);
}

// Reads up to `size` bytes from the start; fewer only at the end of the file. Returns -1 on error.
inline long sysReadStart(int fd, void* to, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const long n =
        syscall(SYS_pread64, fd, static_cast<char*>(to) + got, size - got, static_cast<long>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<long>(got);
}

// Preserves the caller's errno: CUDA calls do not change it, nor do signal handlers.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

}  // namespace divvy::ledger
