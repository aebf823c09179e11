// The stream-ordered pools of this process and what they hold.
#pragma once

#include "accounting/reserved_growth.h"
#include "device/device_map.h"
#include "loader/driver_table.h"

namespace divvy::interposer {

// What is charged for a pool is what it has reserved from the card (not what is allocated from it:
// freed memory stays with the pool until a synchronisation finds it above the release threshold).
struct Pool {
  // A pool that the application destroyed lives on in the driver until its last block is freed.
  enum class Life : std::uint8_t { kAlive, kDestroyed, kStriking };

  std::atomic<CUmemoryPool> handle;  // null: no pool
  std::atomic<std::uint32_t> live;   // blocks allocated from it and not freed
  std::atomic<Life> life;
  std::atomic<bool> fine;  // it was seen to reserve in smaller steps than kPoolStep
  // Made as plain memory of its device, never to be shared: its blocks can be swapped.
  std::atomic<bool> plain;
  unsigned device;  // ledger index
  CUdevice ordinal;
  GrowthCharge charge;
  // Of what can be swapped, which is not the driver's: addresses of memory, and what of it is in
  // use.
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

// Pools reserve from the card in steps; the coarsest that a driver was seen to use.
inline constexpr std::uint64_t kPoolStep = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kFinePoolStep = std::uint64_t{2} << 20;

class MempoolTracker {
 public:
  static constexpr unsigned kMaxPools = 512;

  // True once any pool was used: what lets everything else skip pools at the cost of a load.
  bool any() const { return used_.load(std::memory_order_acquire) != 0; }

  Pool* find(CUmemoryPool handle);
  // Finds or enters; nullptr when the book is full, or was being written for about 100 ms.
  Pool* enter(CUmemoryPool handle, unsigned device, CUdevice ordinal);
  std::uint64_t indexOf(const Pool* pool) const {
    return static_cast<std::uint64_t>(pool - pools_);
  }
  // A block that came from the pool with this index was freed.
  void blockFreed(std::uint64_t index) {
    if (index < kMaxPools) pools_[index].live.fetch_sub(1, std::memory_order_acq_rel);
  }

  // Blocks that can be swapped came (+1) or went (-1), with `bytes` of addresses more; so much more
  // is in use.
  void noteReserved(std::uint32_t index, std::uint64_t bytes, int blocks);
  void noteUsed(std::uint32_t index, std::uint64_t bytes) { pools_[index].used.add(bytes); }
  Pool& at(std::uint32_t index) { return pools_[index]; }
  // Nothing of a device is in use any more.
  void forgetUsed(unsigned device);
  // What the driver says of a pool, 0 where it says nothing.
  static std::uint64_t ask(const Pool& pool, CUmemPool_attribute attribute);

  // Asks the driver what the pool holds and corrects its charge.
  void settle(Pool* pool);
  // All pools on `device`, or on every device with kNoDevice.
  void settleAll(unsigned device = kNoDevice);
  // Makes the pools of a device give back what they hold unused, as the driver does under pressure.
  void trimAll(unsigned device);
  // Makes the driver see that what was freed in this stream is free: it gives back nothing of it
  // before somebody waited for that stream (driver 580; a query is not enough). At most 2 s; false:
  // not in that time, or not from here.
  static bool observeFrees(CUstream stream, CUresult (*record)(CUevent, CUstream));

  // Around cuMemPoolDestroy: off the book before the driver may hand out the handle again, back on
  // it should the driver refuse.
  void beginDestroy(Pool* pool);
  void endDestroy(Pool* pool, bool destroyed);

  void forgetAfterFork();

 private:
  Pool* enterLocked(CUmemoryPool handle, unsigned device, CUdevice ordinal);
  void strike(Pool* pool);

  // Held while an entry is made, which no driver call and no wait is part of.
  std::atomic<bool> entering_{false};
  Pool pools_[kMaxPools] = {};
  std::atomic<unsigned> used_{0};  // entries below this may hold a pool
};

}  // namespace divvy::interposer
