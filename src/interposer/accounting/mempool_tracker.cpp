#include "accounting/mempool_tracker.h"

#include "cuda/capture_scope.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {

using abi::Cu;

namespace {

constexpr unsigned kEnterRounds = 1000;
constexpr long kEnterNanoseconds = 100'000;
constexpr std::uint64_t kFreePatience = 2'000'000'000;
constexpr long kFreeNap = 50'000;

}  // namespace

Pool* MempoolTracker::find(CUmemoryPool handle) {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    if (pools_[i].handle.load(std::memory_order_acquire) == handle &&
        pools_[i].life.load(std::memory_order_acquire) == Pool::Life::kAlive) {
      return &pools_[i];
    }
  }
  return nullptr;
}

Pool* MempoolTracker::enter(CUmemoryPool handle, unsigned device, CUdevice ordinal) {
  if (Pool* known = find(handle)) return known;
  for (unsigned round = 0; entering_.exchange(true, std::memory_order_acquire); ++round) {
    if (round == kEnterRounds) return nullptr;
    sys::nap(kEnterNanoseconds);
  }
  Pool* pool = enterLocked(handle, device, ordinal);
  entering_.store(false, std::memory_order_release);
  return pool;
}

Pool* MempoolTracker::enterLocked(CUmemoryPool handle, unsigned device, CUdevice ordinal) {
  if (Pool* known = find(handle)) return known;
  for (unsigned i = 0; i < kMaxPools; ++i) {
    Pool& pool = pools_[i];
    if (pool.handle.load(std::memory_order_acquire) != nullptr) continue;
    pool.device = device;
    pool.ordinal = ordinal;
    pool.plain.store(false, std::memory_order_relaxed);
    pool.handle.store(handle, std::memory_order_release);
    if (used_.load(std::memory_order_relaxed) < i + 1) {
      used_.store(i + 1, std::memory_order_release);
    }
    return &pool;
  }
  return nullptr;
}

// Only one thread removes a dead pool, because its entry may be another pool's right afterwards.
void MempoolTracker::strike(Pool* pool) {
  Pool::Life life = Pool::Life::kDestroyed;
  if (!pool->life.compare_exchange_strong(life, Pool::Life::kStriking)) return;
  pool->charge.drop(runtime().tenant.account(), pool->device);
  pool->charge.forget();
  pool->fine.store(false, std::memory_order_relaxed);
  pool->reserved.forget();
  pool->used.forget();
  pool->handle.store(nullptr, std::memory_order_release);
  pool->life.store(Pool::Life::kAlive, std::memory_order_release);
}

void MempoolTracker::beginDestroy(Pool* pool) {
  settle(pool);
  pool->life.store(Pool::Life::kDestroyed, std::memory_order_release);
}

void MempoolTracker::endDestroy(Pool* pool, bool destroyed) {
  if (!destroyed) pool->life.store(Pool::Life::kAlive, std::memory_order_release);
  settle(pool);
}

void MempoolTracker::settle(Pool* pool) {
  if (pool->life.load(std::memory_order_acquire) != Pool::Life::kAlive) {
    if (pool->live.load(std::memory_order_acquire) == 0) strike(pool);
    return;
  }
  ledger::Account& account = runtime().tenant.account();
  const GrowthCharge::Mark before = pool->charge.mark();
  cuuint64_t reserved = 0;
  {
    const RelaxedCapture relaxed;
    if (real<Cu::cuMemPoolGetAttribute>()(pool->handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                          &reserved) != CUDA_SUCCESS) {
      return;
    }
  }
  if (reserved % kPoolStep != 0) pool->fine.store(true, std::memory_order_relaxed);
  const std::uint64_t excess = pool->charge.settle(account, pool->device, before, reserved);
  if (excess == 0) return;
  noteFault(Fault::kPoolOutgrew, static_cast<std::uint32_t>(Cu::cuMemAllocAsync), excess);
  pool->charge.admitMore(account, pool->device, excess);
}

void Pool::HighWaterCounter::add(std::uint64_t bytes) {
  const std::uint64_t sum = now.fetch_add(bytes, std::memory_order_acq_rel) + bytes;
  std::uint64_t most = high.load(std::memory_order_relaxed);
  // A sum that wrapped below zero for a moment is not a high-water mark.
  while (static_cast<std::int64_t>(sum) > static_cast<std::int64_t>(most) &&
         !high.compare_exchange_weak(most, sum, std::memory_order_acq_rel)) {
  }
}

void MempoolTracker::noteReserved(std::uint32_t index, std::uint64_t bytes, int blocks) {
  Pool& pool = pools_[index];
  pool.reserved.add(bytes);
  const auto live = static_cast<std::uint32_t>(blocks);
  // The last block of a pool that was destroyed.
  if (pool.live.fetch_add(live, std::memory_order_acq_rel) + live == 0 && !pool.isAlive()) {
    settle(&pool);
  }
}

void MempoolTracker::forgetUsed(unsigned device) {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    if (pools_[i].device == device) pools_[i].used.now.store(0, std::memory_order_relaxed);
  }
}

std::uint64_t MempoolTracker::ask(const Pool& pool, CUmemPool_attribute attribute) {
  const RelaxedCapture relaxed;
  cuuint64_t value = 0;
  const CUresult result = real<Cu::cuMemPoolGetAttribute>()(
      pool.handle.load(std::memory_order_acquire), attribute, &value);
  return result == CUDA_SUCCESS ? value : 0;
}

void MempoolTracker::settleAll(unsigned device) {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    if (pools_[i].handle.load(std::memory_order_acquire) == nullptr) continue;
    if (device == kNoDevice || pools_[i].device == device) settle(&pools_[i]);
  }
}

void MempoolTracker::trimAll(unsigned device) {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    CUmemoryPool handle = pools_[i].handle.load(std::memory_order_acquire);
    if (handle == nullptr || pools_[i].device != device) continue;
    if (pools_[i].life.load(std::memory_order_acquire) == Pool::Life::kAlive) {
      const RelaxedCapture relaxed;
      real<Cu::cuMemPoolTrimTo>()(handle, 0);
    }
    settle(&pools_[i]);
  }
}

// The wait is bounded, because work that depends on this thread would never end.
bool MempoolTracker::observeFrees(CUstream stream, CUresult (*record)(CUevent, CUstream)) {
  if (divvy_thread.callback || divvy_thread.forking || runtime().captures.open()) return false;
  const ErrnoKeeper keeper;
  const RelaxedCapture relaxed;
  CUevent event = nullptr;
  if (real<Cu::cuEventCreate>()(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  bool ended = false;
  if (record(event, stream) == CUDA_SUCCESS) {
    const std::uint64_t until = sys::now() + kFreePatience;
    CUresult seen = real<Cu::cuEventQuery>()(event);
    while (seen == CUDA_ERROR_NOT_READY && sys::now() < until) {
      sys::nap(kFreeNap);
      seen = real<Cu::cuEventQuery>()(event);
    }
    ended = seen == CUDA_SUCCESS && real<Cu::cuEventSynchronize>()(event) == CUDA_SUCCESS;
  }
  real<Cu::cuEventDestroy_v2>()(event);
  return ended;
}

void MempoolTracker::forgetAfterFork() {
  for (Pool& pool : pools_) {
    pool.handle.store(nullptr, std::memory_order_relaxed);
    pool.live.store(0, std::memory_order_relaxed);
    pool.life.store(Pool::Life::kAlive, std::memory_order_relaxed);
    pool.fine.store(false, std::memory_order_relaxed);
    pool.charge.forget();
    pool.reserved.forget();
    pool.used.forget();
  }
  used_.store(0, std::memory_order_relaxed);
  entering_.store(false, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
