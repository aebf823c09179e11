// The stream-ordered pools of this process and their memory.
#pragma once

#include "accounting/reserved_growth.h"
#include "device/device_map.h"
#include "loader/driver_table.h"

namespace divvy::interposer {

// A pool is charged with its memory reserved from the device, not with allocations from it.
// Freed memory stays in the pool until a synchronisation finds it above the release threshold.
struct Pool {
  // A pool that the application destroyed remains in the driver until its last block is freed.
  enum class Life : std::uint8_t { kAlive, kDestroyed, kStriking };

  std::atomic<CUmemoryPool> handle;  // null: no pool
  std::atomic<std::uint32_t> live;   // blocks allocated from it and not freed
  std::atomic<Life> life;
  std::atomic<bool> fine;  // was seen to reserve in smaller steps than kPoolStep
  // Made as plain memory of its device and not shareable: its blocks can be swapped.
  std::atomic<bool> plain;
  unsigned device;  // ledger index
  CUdevice ordinal;
  GrowthCharge charge;
  // Counters of the pool's swappable memory, which the driver does not know: the bytes of
  // addresses, and the bytes in use.
  struct HighWaterCounter {
    std::atomic<std::uint64_t> now;
    std::atomic<std::uint64_t> high;
    void add(std::uint64_t bytes);
    void reset() { high.store(now.load(std::memory_order_acquire), std::memory_order_release); }
    void forget() {
      now.store(0, std::memory_order_relaxed);
      high.store(0, std::memory_order_relaxed);
    }
  };
  HighWaterCounter reserved;
  HighWaterCounter used;

  bool isAlive() const { return life.load(std::memory_order_acquire) == Life::kAlive; }
};

// Step in which pools reserve from the device: the coarsest step observed of a driver.
inline constexpr std::uint64_t kPoolStep = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kFinePoolStep = std::uint64_t{2} << 20;

class MempoolTracker {
 public:
  static constexpr unsigned kMaxPools = 512;

  // Returns whether a pool was ever used. Otherwise all other code skips pools at the cost of one
  // load.
  bool any() const { return used_.load(std::memory_order_acquire) != 0; }

  Pool* find(CUmemoryPool handle);
  // Finds or enters a pool. Returns nullptr if the tracker is full, or stays locked for about 100
  // ms.
  Pool* enter(CUmemoryPool handle, unsigned device, CUdevice ordinal);
  std::uint64_t indexOf(const Pool* pool) const {
    return static_cast<std::uint64_t>(pool - pools_);
  }
  // Notes that a block of the pool with this index was freed.
  void blockFreed(std::uint64_t index) {
    if (index < kMaxPools) pools_[index].live.fetch_sub(1, std::memory_order_acq_rel);
  }

  // noteReserved() notes that a swappable block came (blocks = 1) or went (-1), and a change of
  // `bytes` of addresses. noteUsed() notes a change of the bytes in use.
  void noteReserved(std::uint32_t index, std::uint64_t bytes, int blocks);
  void noteUsed(std::uint32_t index, std::uint64_t bytes) { pools_[index].used.add(bytes); }
  Pool& at(std::uint32_t index) { return pools_[index]; }
  // Notes that none of the device's swappable memory is in use any more.
  void forgetUsed(unsigned device);
  // Returns the driver's value of a pool's attribute; 0 if the driver gives none.
  static std::uint64_t ask(const Pool& pool, CUmemPool_attribute attribute);

  // Reads the size of the pool from the driver, and corrects its charge.
  void settle(Pool* pool);
  // Settles all pools on `device`; with kNoDevice, on every device.
  void settleAll(unsigned device = kNoDevice);
  // Makes the pools of a device give unused memory back, as the driver does under pressure.
  void trimAll(unsigned device);
  // Makes the driver notice that memory freed in this stream is free. The driver returns none of it
  // before a wait for that stream (driver 580; a query is not enough). Waits at most 2 s. Returns
  // false if that was too short, or if this thread must not wait.
  static bool observeFrees(CUstream stream, CUresult (*record)(CUevent, CUstream));

  // Surround cuMemPoolDestroy. The pool leaves the tracker before the driver may give out its
  // handle again, and returns if the driver refuses.
  void beginDestroy(Pool* pool);
  void endDestroy(Pool* pool, bool destroyed);

  void forgetAfterFork();

 private:
  Pool* enterLocked(CUmemoryPool handle, unsigned device, CUdevice ordinal);
  void strike(Pool* pool);

  // Held while an entry is made. No driver call and no wait happens meanwhile.
  std::atomic<bool> entering_{false};
  Pool pools_[kMaxPools] = {};
  std::atomic<unsigned> used_{0};  // entries below may hold a pool
};

}  // namespace divvy::interposer
