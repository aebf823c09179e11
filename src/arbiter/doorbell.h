// Waiting for any of many tenants, for a command, or for an instant.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "arbiter/policy.h"

namespace divvy::arbiter {

// One thread waits; ring() may be called from any.
class Doorbell {
 public:
  // `many`: see Settings::wait_on_many.
  explicit Doorbell(bool many) : many_(many) { clear(); }

  // Ends a wait that is under way, or else the next one, at once.
  void ring();
  // A wait that begins after this ends by any ring() after it.
  void listen() { heard_ = own_.load(std::memory_order_acquire); }

  // The bells to wait on: addresses of words that grow, with the values known of them.
  void clear();
  void add(const std::uint32_t* bell, std::uint32_t known);

  // Returns at `until` (kNever: not by time), when a bell is rung or differs from what is known, or
  // for no reason. Bells beyond what the kernel can wait on are found by returning every kPoll.
  // False: an address is no memory any more.
  bool wait(Nanos until);

 private:
  bool waitOne(Nanos until);

  static constexpr Nanos kPoll = 500 * kMicrosecond;
  // What the kernel takes at most (FUTEX_WAITV_MAX), our own word included.
  static constexpr std::size_t kMany = 128;

  bool many_;
  std::atomic<std::uint32_t> own_{0};
  std::uint32_t heard_ = 0;
  std::vector<futex_waitv> bells_;  // the first is our own word
};

}  // namespace divvy::arbiter
