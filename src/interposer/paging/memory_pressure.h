// Whether the device can ever hold this process's requests beside its present memory. Allocations
// wait while it cannot, and are refused if that persists.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// Counts `bytes`, which are charged already, as swappable before they are allocated. The end of the
// scope takes them back unless keep() was called. If `patient`, waits for pending frees and then,
// for the tenant's pressure_ms (default 0), for the agent to make room. Threads that must not wait
// do not: host functions and fork handlers.
class SwappableReservation {
 public:
  SwappableReservation(unsigned device, std::uint64_t bytes, bool patient = true);
  ~SwappableReservation();
  SwappableReservation(const SwappableReservation&) = delete;
  SwappableReservation& operator=(const SwappableReservation&) = delete;

  // Returns false if the device cannot hold the bytes.
  bool granted() const { return granted_; }
  // Leaves the bytes counted; the caller's own record covers them from here on.
  void keep() { granted_ = false; }

 private:
  bool add() const;
  bool await() const;

  unsigned device_;
  std::uint64_t bytes_;
  bool granted_;
};

// One per process: the number of allocations that wait.
struct Pressure {
  std::atomic<std::uint32_t> waiting{0};
};

}  // namespace divvy::interposer
