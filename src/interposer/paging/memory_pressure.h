// Whether the device can ever hold what this process asks for beside what it has: allocations that
// wait while it is short, and are refused when it stays so.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// Bytes, charged already, that are counted as swappable before they are allocated; taken back at
// the end of the scope unless kept. If `patient`, waits as long as the tenant's terms say (not at
// all, by default) for the agent to make the device cover them; threads that must not wait do not.
class SwappableReservation {
 public:
  SwappableReservation(unsigned device, std::uint64_t bytes, bool patient = true);
  ~SwappableReservation();
  SwappableReservation(const SwappableReservation&) = delete;
  SwappableReservation& operator=(const SwappableReservation&) = delete;

  // False: the device is short of them.
  bool granted() const { return granted_; }
  // From here on they are counted by somebody else.
  void keep() { granted_ = false; }

 private:
  bool add() const;
  bool await() const;

  unsigned device_;
  std::uint64_t bytes_;
  bool granted_;
};

// One per process: allocations that wait.
struct Pressure {
  std::atomic<std::uint32_t> waiting{0};
};

}  // namespace divvy::interposer
