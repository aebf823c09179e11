#include "cuda/memory/memory_window.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "card/card.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kLargestWindow = 16ULL << 40;
constexpr std::uint64_t kSmallestWindow = 64ULL << 30;
constexpr std::uint64_t kNarrowBytes = 512ULL << 20;
constexpr std::uint64_t kHeaderBytes = 64 << 10;
constexpr std::uint64_t kKeptBytes = 512ULL << 20;

constexpr std::uint64_t roundUp(std::uint64_t n, std::uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Unused addresses, aligned to large pages; nullptr if there are not enough.
std::byte* reserveAddresses(std::uint64_t bytes) {
  void* at = mmap(nullptr, bytes + kLargePage, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes + kLargePage, MADV_DONTDUMP);
  return reinterpret_cast<std::byte*>(roundUp(reinterpret_cast<std::uintptr_t>(at), kLargePage));
}

}  // namespace

Window& Window::get() {
  static Window* const window = new Window;
  return *window;
}

bool Window::open() {
  // The oldest supported libc has no wrapper for memfd_create.
  fd_ = static_cast<int>(syscall(SYS_memfd_create, "simgpu", MFD_CLOEXEC));
  if (fd_ < 0) return false;
  for (std::uint64_t bytes = kLargestWindow; bytes >= kSmallestWindow; bytes /= 2) {
    if (reserve(bytes)) return true;
  }
  return false;
}

bool Window::reserve(std::uint64_t bytes) {
  const std::uint64_t filled = bytes / 2;  // small, large and physical
  const std::uint64_t exports_at = kHeaderBytes;
  const std::uint64_t bits_at = roundUp(exports_at + kMaxExports * sizeof(ExportEntry), kLargePage);
  const std::uint64_t data_at =
      roundUp(bits_at + filled / kPoisonChunk / PoisonBits::kChunksPerWord * 8, kLargePage);
  if (ftruncate(fd_, static_cast<off_t>(data_at + filled)) != 0) return false;
  std::byte* device = reserveAddresses(bytes);
  std::byte* alias = reserveAddresses(bytes);
  void* front = mmap(nullptr, data_at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (device == nullptr || alias == nullptr || front == MAP_FAILED ||
      mmap(alias, filled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_,
           static_cast<off_t>(data_at)) == MAP_FAILED) {
    if (device != nullptr) munmap(device, bytes);
    if (alias != nullptr) munmap(alias, bytes);
    if (front != MAP_FAILED) munmap(front, data_at);
    return false;
  }
  // A forked child does not need card contents, and must not keep them alive.
  madvise(alias, bytes, MADV_DONTFORK);
  auto* start = static_cast<std::byte*>(front);
  header_ = reinterpret_cast<WindowHeader*>(start);
  exports_ = reinterpret_cast<ExportEntry*>(start + exports_at);
  bits_ = PoisonBits(reinterpret_cast<std::atomic<std::uint64_t>*>(start + bits_at), 0);
  const auto pid = getpid();
  *header_ = {
      kWindowMagic,         bytes, bits_at, exports_at, data_at, static_cast<std::uint32_t>(pid), 0,
      processStartTime(pid)};
  base_ = reinterpret_cast<CUdeviceptr>(device);
  bytes_ = bytes;
  alias_ = alias;
  small.reset(0, bytes / 16);
  large.reset(bytes / 16, bytes / 4);
  physical.reset(bytes / 4, filled);
  reserved.reset(filled, bytes);
  return true;
}

bool Window::reserveNarrow() {
  if (narrow_bytes_ != 0) return true;
#ifdef MAP_32BIT
  const auto offset = large.allocate(kNarrowBytes, kLargePage);
  if (!offset) return false;
  void* at = mmap(nullptr, kNarrowBytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0);
  if (at == MAP_FAILED) {
    large.release(*offset, kNarrowBytes);
    return false;
  }
  narrow_offset_ = *offset;
  narrow_base_ = reinterpret_cast<CUdeviceptr>(at);
  narrow_bytes_ = kNarrowBytes;
  narrow_.reset(narrow_base_, narrow_base_ + kNarrowBytes);
  return true;
#else
  return false;
#endif
}

CUdeviceptr Window::reserveNarrow(std::uint64_t bytes) {
  if (!reserveNarrow()) return 0;
  return narrow_.allocate(bytes, kAllocationUnit).value_or(0);
}

void Window::releaseNarrow(CUdeviceptr address, std::uint64_t bytes) {
  discard(offsetOf(address), bytes);
  narrow_.release(address, bytes);
}

bool Window::mapBytes(CUdeviceptr address, std::uint64_t bytes, int fd, std::uint64_t file_offset) {
  void* at = mmap(alias(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                  static_cast<off_t>(file_offset));
  if (at != MAP_FAILED) madvise(at, bytes, MADV_DONTFORK);
  return at != MAP_FAILED;
}

void Window::unmapBytes(CUdeviceptr address, std::uint64_t bytes) {
  mmap(alias(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
}

bool Window::openToHost(CUdeviceptr address, std::uint64_t bytes) {
  return openToHost(address, bytes, fd_, fileOffset(offsetOf(address)), true);
}

bool Window::openToHost(CUdeviceptr address, std::uint64_t bytes, int fd, std::uint64_t file_offset,
                        bool writable) {
  return mmap(reinterpret_cast<void*>(address), bytes,
              writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, fd,
              static_cast<off_t>(file_offset)) != MAP_FAILED;
}

void Window::closeToHost(CUdeviceptr address, std::uint64_t bytes) {
  mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void Window::discard(std::uint64_t window_offset, std::uint64_t bytes) {
  if (bits_.clear(window_offset, bytes)) punch(window_offset, bytes);
}

void Window::discardPhysical(std::uint64_t window_offset, std::uint64_t bytes) {
  if (!bits_.clear(window_offset, bytes)) return;
  const std::uint64_t end = window_offset + bytes;
  const std::uint64_t kept = std::min(end, std::max(window_offset, bytes_ / 4 + kKeptBytes));
  if (kept < end) punch(kept, end - kept);
}

void Window::punch(std::uint64_t window_offset, std::uint64_t bytes) {
  const std::uint64_t first = roundUp(window_offset, kPoisonChunk);
  const std::uint64_t end = (window_offset + bytes) / kPoisonChunk * kPoisonChunk;
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(fileOffset(first)),
            static_cast<off_t>(end - first));
}

}  // namespace divvy::simgpu
