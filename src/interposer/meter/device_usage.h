// This process's use of one device: its work in flight there, and how long the device was busy.
#pragma once

#include <atomic>
#include <cstdint>

#include "meter/interval_union.h"

namespace divvy::interposer {

// Takes up to `amount` out of an account, and returns how much that was.
template <typename Number>
Number takeFrom(std::atomic<Number>& account, Number amount) {
  Number there = account.load(std::memory_order_relaxed);
  Number taken;
  do {
    taken = there < amount ? there : amount;
  } while (!account.compare_exchange_weak(there, there - taken, std::memory_order_relaxed));
  return taken;
}

// In static storage. All times are host nanoseconds. Any thread; the one lock is only tried, for a
// bounded time.
class DeviceUsage {
 public:
  struct Loose {
    bool ended = false;  // there was such work
    std::uint64_t sum = 0;
    std::uint32_t launches = 0;
  };

  // The sum of the estimates of the work in flight, and the estimated end of that work.
  std::uint64_t unsettled() const { return unsettled_.load(std::memory_order_relaxed); }
  std::uint64_t until() const { return until_.load(std::memory_order_relaxed); }
  // The time during which the device was observed busy. Only grows.
  std::uint64_t busy() const { return busy_.load(std::memory_order_relaxed); }

  // Adds work that is in flight from `now` on. Returns the estimated end of all work on the device.
  std::uint64_t launch(std::uint64_t estimate, std::uint64_t now);
  // The same for work in streams without events, which ends by estimate.
  void launchLoose(std::uint32_t launches, std::uint64_t sum, std::uint64_t now);
  // Takes back a launch that the driver refused. takeBackLoose() returns the argument for
  // takeBack().
  std::uint64_t takeBackLoose(std::uint64_t estimate);
  void takeBack(std::uint64_t sum);
  // Adds work of unknown duration that is still in flight, beside the launched work.
  void addUnsettled(std::uint64_t sum) { unsettled_.fetch_add(sum, std::memory_order_relaxed); }

  // Notes that work with these estimates is in flight no more.
  void settle(std::uint64_t sum) { unsettled_.fetch_sub(sum, std::memory_order_relaxed); }
  // Counts the work in streams without events as busy time if it ends by `now`; settle() follows.
  // Otherwise sets *look_at to the time of the next call if that is sooner.
  Loose endLoose(std::uint64_t now, std::uint64_t* look_at);

  // Counts time that the device was busy. cover() counts `amount` within [start, end) of the
  // device's timeline, as far as that time was not counted before, and returns how much was new.
  void addBusy(std::uint64_t amount) { busy_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t cover(std::uint64_t start, std::uint64_t end, std::uint64_t amount);

  // Notes that the device was certainly busy during [start, end), with work that was estimated at
  // `sum`. `window`: time over which the two are compared.
  void weigh(std::uint64_t start, std::uint64_t end, std::uint64_t sum, std::uint64_t window);
  // Returns how many thousandths of its estimates work took recently; 0: there were gaps.
  std::uint64_t tookPermille() const { return took_permille_; }

  // A settle begins; some work should have ended and did not, and is thought to take `more`; a
  // settle ends: no work takes longer than its estimates from now on, except overdue work.
  void clearOverdue() { overdue_.store(false, std::memory_order_relaxed); }
  void noteOverdue(std::uint64_t now, std::uint64_t more);
  void correct(std::uint64_t now);

  void forgetAfterFork();

 private:
  struct Window {
    std::uint64_t start = 0;
    std::uint64_t certain = 0;
    std::uint64_t sum = 0;
  };

  // Launching threads share no cache line with another device.
  alignas(64) std::atomic<std::uint64_t> unsettled_{0};
  std::atomic<std::uint64_t> until_{0};
  std::atomic<std::uint64_t> busy_{0};
  std::atomic<std::uint64_t> loose_sum_{0};  // launched without events
  std::atomic<std::uint32_t> loose_launches_{0};
  std::atomic<bool> overdue_{false};
  std::atomic<bool> uniting_{false};  // guards the members below
  IntervalUnion united_;
  // Intervals during which the device was certainly busy, and the estimates of the work that ran in
  // them. Without gaps the two should be equal. Their ratio shows the error of estimates of
  // concurrent streams.
  IntervalUnion certain_;
  Window window_;
  std::uint64_t took_permille_ = 0;
};

}  // namespace divvy::interposer
