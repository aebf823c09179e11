#include "paging/swap_store.h"

#include "loader/driver_table.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr unsigned kPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE

// The kernel's numbers, of 2.6.16, 2.6.38, 3.4 and 5.14; headers may be older.
constexpr int kDontFork = 10;
constexpr int kHugePages = 14;
constexpr int kDontDump = 16;
constexpr int kPopulateWrite = 23;

}  // namespace

std::uint32_t SwapStore::takeKept(std::uint64_t bytes) {
  // The smallest sufficient segment that is not mostly wasted: chunks may have very different
  // sizes.
  std::uint32_t best = kNone;
  std::uint64_t best_bytes = UINT64_MAX;
  segments_.forEach([&](std::uint32_t number, Segment& segment) {
    if (segment.use.load(std::memory_order_acquire) != kFree) return true;
    if (segment.memory == nullptr || segment.bytes < bytes || segment.bytes >= best_bytes ||
        segment.bytes / 2 > bytes) {
      return true;
    }
    best = number;
    best_bytes = segment.bytes;
    return best_bytes != bytes;
  });
  std::uint32_t free = kFree;
  if (best == kNone ||
      !segments_.at(best).use.compare_exchange_strong(free, kUsed, std::memory_order_acq_rel)) {
    return kNone;
  }
  // It may have been destroyed since, and made again.
  if (segments_.at(best).bytes >= bytes) return best;
  give(best);
  return kNone;
}

// The caller counts it.
std::uint32_t SwapStore::make(std::uint64_t bytes) {
  const std::uint32_t number = segments_.take();
  if (number == kNone) return kNone;
  Segment& segment = segments_.at(number);
  segment.use.store(kUsed, std::memory_order_release);
  segment.pinned = false;
  segment.bytes = bytes;
  segment.memory = sys::mapAnonymous(bytes);
  if (segment.memory == nullptr) {
    segments_.give(number);
    return kNone;
  }
  ::syscall(SYS_madvise, segment.memory, bytes, kDontFork);
  // Core files do not contain device memory, so they must not contain its contents here either.
  ::syscall(SYS_madvise, segment.memory, bytes, kDontDump);
  // All pages at once, while other copies are under way: single faults cost more than the copy.
  ::syscall(SYS_madvise, segment.memory, bytes, kHugePages);
  if (::syscall(SYS_madvise, segment.memory, bytes, kPopulateWrite) != 0 && errno == ENOMEM) {
    sys::unmap(segment.memory, bytes);
    segment.memory = nullptr;
    segments_.give(number);
    return kNone;
  }
  return number;
}

std::uint32_t SwapStore::take(std::uint64_t bytes, std::uint64_t limit) {
  const std::uint32_t kept = takeKept(bytes);
  if (kept != kNone) return kept;
  if (bytes > limit) return kNone;
  trim(limit - bytes);
  return makeSpare(bytes, limit);
}

std::uint32_t SwapStore::makeSpare(std::uint64_t bytes, std::uint64_t limit) {
  if (bytes > limit) return kNone;
  // Pagers of other devices take some at the same time.
  std::uint64_t taken = this->bytes();
  do {
    if (taken > limit - bytes) return kNone;
  } while (!bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  const std::uint32_t made = make(bytes);
  if (made == kNone) bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return made;
}

void SwapStore::pin(std::uint32_t number, std::uint32_t contexts_ended) {
  Segment& segment = segments_.at(number);
  if (segment.pinned && segment.pinned_at == contexts_ended) return;
  // After the end of the context that pinned it, a segment may be pinned or not; both results are
  // fine.
  const CUresult result =
      real<Cu::cuMemHostRegister_v2>()(segment.memory, segment.bytes, kPortable);
  segment.pinned = result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  segment.pinned_at = contexts_ended;
}

void SwapStore::unpin(Segment& segment) {
  if (segment.pinned) real<Cu::cuMemHostUnregister>()(segment.memory);
  segment.pinned = false;
}

bool SwapStore::destroyOne() {
  std::uint32_t found = kNone;
  segments_.forEach([&](std::uint32_t number, Segment& segment) {
    std::uint32_t free = kFree;
    if (segment.memory == nullptr ||
        !segment.use.compare_exchange_strong(free, kChanging, std::memory_order_acq_rel)) {
      return true;
    }
    found = number;
    return false;
  });
  if (found == kNone) return false;
  Segment& segment = segments_.at(found);
  unpin(segment);
  sys::unmap(segment.memory, segment.bytes);
  segment.memory = nullptr;
  bytes_.fetch_sub(segment.bytes, std::memory_order_relaxed);
  segments_.give(found);
  return true;
}

void SwapStore::trim(std::uint64_t limit) {
  while (bytes() > limit && destroyOne()) {
  }
}

std::uint64_t SwapStore::spareBytes() {
  std::uint64_t sum = 0;
  segments_.forEach([&](std::uint32_t, Segment& segment) {
    const bool spare = segment.use.load(std::memory_order_acquire) == kFree;
    if (spare && segment.memory != nullptr) sum += segment.bytes;
    return true;
  });
  return sum;
}

void SwapStore::give(std::uint32_t number) {
  segments_.at(number).use.store(kFree, std::memory_order_release);
}

void SwapStore::forgetAfterFork() {
  segments_.forgetAfterFork();
  bytes_.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
