// Waits for a doorbell of any of many tenants, for a command, or for an instant.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// One thread waits. Any thread may call ring().
class Doorbell {
 public:
  // `many`: see Settings::wait_on_many.
  explicit Doorbell(bool many) : many_(many) { clear(); }

  // Ends the current wait, or else the next one, at once.
  void ring();
  // Every ring() after this call ends a wait that begins after this call.
  void listen() { observed_ = own_.load(std::memory_order_acquire); }

  // The doorbells to wait on: addresses of words that grow, each with the value last seen.
  void clear();
  void add(const std::uint32_t* bell, std::uint32_t known);

  // Returns at `until` (kNever: no time limit), when a doorbell is rung or differs from its last
  // seen value, or spuriously. If there are more doorbells than the kernel can wait on, returns
  // every kPoll. Returns false if an address is no longer mapped.
  bool wait(Nanos until);

 private:
  bool waitOne(Nanos until);

  static constexpr Nanos kPoll = 500 * kMicrosecond;
  // Most words that the kernel waits on at once (FUTEX_WAITV_MAX), our own word included.
  static constexpr std::size_t kMany = 128;

  bool many_;
  std::atomic<std::uint32_t> own_{0};
  std::uint32_t observed_ = 0;
  std::vector<futex_waitv> bells_;  // the first is our own word
};

}  // namespace divvy::arbiter
