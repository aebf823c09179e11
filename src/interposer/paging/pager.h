// The threads that take memory off the devices and bring it back, as the agent orders.
#pragma once

#include <atomic>
#include <cstdint>

#include "ledger/swap.h"
#include "paging/chunk.h"
#include "support/lease.h"

namespace divvy::interposer {

class PagerPass;

// What one device's thread has to know from one look to the next.
struct Pager {
  enum class State : std::uint32_t { kNone, kStarting, kRunning, kMissing };
  std::atomic<State> state;
  unsigned device;       // ledger index
  std::uint32_t parked;  // 1: it calls the driver no more
  std::uint64_t seen_seq;
  std::uint64_t retry_at;       // not before, but for another order; 0: at once
  std::uint64_t pause;          // ns, that the next refusal is waited for
  std::uint64_t vain;           // weight of the drains in vain, one after the other; 0: none
  std::uint64_t quiet_from;     // after one: sooner than retry_at if nothing goes on by then
  std::uint64_t back_at;        // not before does anything come back from the host unasked
  ledger::SwapRefusal refused;  // the last time
};

// One per process, in static storage: a thread per device with swappable memory.
class Pagers {
 public:
  // Starts those that are missing, for a process that is about to have swappable memory. False:
  // there can be none; what cannot be moved must not be swappable.
  bool start();
  // There may be something to do. Any thread, any signal handler.
  void wake();

  // Returns when all of them are outside the driver for good, or after 10 ms.
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
  // Drains, and has the pass do that then.
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
  std::atomic<std::uint32_t> closers_{0};  // movers that need the gate closed
};

}  // namespace divvy::interposer
