// The threads that move chunks off the devices and back, as the agent orders.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/swap.h"
#include "paging/chunk.h"
#include "support/lease.h"

namespace divvy::interposer {

class PagerPass;

// State of one device's pager thread between two steps.
struct Pager {
  enum class State : std::uint32_t { kNone, kStarting, kRunning, kMissing };
  std::atomic<State> state;
  unsigned device;       // ledger index
  std::uint32_t parked;  // 1: it calls the driver no more
  std::uint64_t seen_seq;
  std::uint64_t retry_at;       // earliest retry under the same order; 0: at once
  std::uint64_t pause;          // ns waited after the latest refusal; 0: none
  std::uint64_t vain;           // weight of consecutive failed drains; 0: none
  std::uint64_t quiet_from;     // after a failed drain: earliest retry if no work is in flight
  std::uint64_t back_at;        // earliest unneeded move back from host memory
  ledger::SwapRefusal refused;  // latest refusal
};

// One per process, in static storage: one thread for each device with swappable memory.
class Pagers {
 public:
  // Starts the threads that are missing, before the process allocates swappable memory. Returns
  // false if a thread cannot be started; then no memory of this process may be swappable.
  bool start();
  // Makes the threads check for work. Any thread and signal handler.
  void wake();

  // Returns when all threads have left the driver for good, or after 10 ms.
  void stop();
  bool stopping() const { return stop_.load(std::memory_order_acquire); }

  void forgetAfterFork();

 private:
  friend class PagerPass;

  static void* run(void* pager);
  bool startOne(unsigned device);
  void loop(Pager& pager);
  std::uint64_t step(Pager& pager, std::uint64_t now);
  std::uint64_t moveOut(Pager& pager, std::uint64_t now);
  std::uint64_t moveIn(Pager& pager, std::uint64_t now);
  std::uint64_t moveBack(Pager& pager, std::uint64_t now);
  // Closes the residency gate, then calls `move` with a pass.
  template <typename Move>
  std::uint64_t whileClosed(Pager& pager, std::uint64_t now, Move move);
  ledger::SwapRefusal preferHot(PagerPass& pass);
  std::uint64_t helpSelf(Pager& pager, std::uint64_t now);
  static bool resting(const Pager& pager, std::uint64_t now);
  static std::uint64_t refuse(Pager& pager, ledger::SwapRefusal why);
  static std::uint64_t refuseDrain(Pager& pager, std::uint64_t took);
  static std::uint64_t nextTry(const Pager& pager, std::uint64_t now);
  static void obeyed(Pager& pager);
  static void collect();
  bool tryOpen();
  [[noreturn]] static void park(Pager& pager);

  Pager pagers_[ledger::kMaxDevices] = {};
  std::uint32_t word_ = 0;  // grows with each wake-up
  std::atomic<bool> stop_{false};
  Lease lease_;
  std::atomic<std::uint32_t> closers_{0};  // pagers that need the gate closed
};

}  // namespace divvy::interposer
