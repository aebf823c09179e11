// System calls without libc's wrappers: no cancellation points, no function that another preloaded
// library may have replaced, and no symbol above glibc 2.17.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace divvy::interposer {

// Restores errno at the end of a scope: the application's errno never changes.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

namespace sys {

// Opens a file read-only, close-on-exec. Returns -1 with errno on failure.
inline int openRead(const char* path) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
}

inline void close(int fd) {
  ::syscall(SYS_close, fd);
}

// Returns false on any failure. The kernel's struct stat is glibc's on 64-bit systems.
inline bool fileStatus(int fd, struct stat* out) {
  return ::syscall(SYS_fstat, fd, out) == 0;
}

inline bool pathStatus(const char* path, struct stat* out) {
  return ::syscall(SYS_newfstatat, AT_FDCWD, path, out, 0) == 0;
}

// Returns the bytes read at `offset`, fewer at the end of the file; -1 on failure.
inline long readSome(int fd, void* buffer, size_t size, uint64_t offset) {
  return ::syscall(SYS_pread64, fd, buffer, size, offset);
}

// Returns whether exactly `size` bytes were read at `offset`.
inline bool readAt(int fd, void* buffer, size_t size, uint64_t offset) {
  return readSome(fd, buffer, size, offset) == static_cast<long>(size);
}

inline void* map(size_t size, int protection, int flags, int fd) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer learns only from libc that the memory at an address is new.
  void* address = ::mmap(nullptr, size, protection, flags, fd, 0);
  return address == MAP_FAILED ? nullptr : address;
#else
  const long address = ::syscall(SYS_mmap, nullptr, size, protection, flags, fd, 0);
  return address == -1 ? nullptr : reinterpret_cast<void*>(address);
#endif
}

// Returns zeroed private memory of whole pages, or nullptr. Never uses malloc: callers may be
// inside it.
inline void* mapAnonymous(size_t size) {
  return map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

// Returns a read-only private view of a file, or nullptr.
inline void* mapFile(int fd, size_t size) {
  return map(size, PROT_READ, MAP_PRIVATE, fd);
}

inline void unmap(void* address, size_t size) {
#if defined(__SANITIZE_THREAD__)
  ::munmap(address, size);
#else
  ::syscall(SYS_munmap, address, size);
#endif
}

// Sleeps for at most `nanoseconds` (below one second); a signal ends the sleep early.
inline void nap(long nanoseconds) {
  const struct timespec time = {0, nanoseconds};
  ::syscall(SYS_nanosleep, &time, nullptr);
}

// Returns CLOCK_MONOTONIC in nanoseconds, without a system call if the kernel allows that.
inline uint64_t now() {
  struct timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// Sleeps while *word == expected, until `until` (of now()) at most; 0: no limit. A wake-up, a
// signal or no cause at all may end the sleep earlier. `shared`: several processes share the word's
// memory. Read-only memory suffices.
inline void waitOn(const uint32_t* word, uint32_t expected, uint64_t until, bool shared) {
  const struct timespec time = {static_cast<time_t>(until / 1'000'000'000),
                                static_cast<long>(until % 1'000'000'000)};
  ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG), expected,
            until == 0 ? nullptr : &time, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void wakeAll(const uint32_t* word, bool shared) {
  ::syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, nullptr,
            nullptr, 0);
}

}  // namespace sys
}  // namespace divvy::interposer
