// The relation between a device's time and the host's.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// One per process, in static storage. Any thread.
class DeviceTime {
 public:
  // Reads the grant's card_permille: so many thousandths of device time pass per host time. 1000
  // without a tenant.
  void read();
  std::uint32_t permille() const { return permille_.load(std::memory_order_relaxed); }

  // Returns the host nanoseconds in which the device's clock counts so many.
  std::uint64_t onHost(std::uint64_t nanoseconds) const { return nanoseconds * 1000 / permille(); }
  // Returns the sum of estimates, in host ns, at which a thread's launches are flushed.
  std::uint64_t flushAt() const { return flush_at_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> permille_{1000};
  std::atomic<std::uint64_t> flush_at_{50'000};
};

}  // namespace divvy::interposer
