// The one thread that we have in a process: it settles what was launched, off the launch path.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// One per process, in static storage; made at the first launch. Any thread.
class BackgroundThread {
 public:
  // Starts it, once.
  void begin() {
    if (state_.load(std::memory_order_relaxed) == State::kNone) wake();
  }
  // Starts it, or wakes it.
  void wake();

  // missing: where no thread could be made: then launching threads do its work while they wait.
  bool running() const { return state_.load(std::memory_order_acquire) == State::kRunning; }
  bool missing() const { return state_.load(std::memory_order_acquire) == State::kMissing; }

  // Returns when it is outside the driver for good, or after 10 ms.
  void stop();

  // The child has none.
  void forgetAfterFork();

  // Nanoseconds of processor time that the calling thread, which is the helper, has used.
  static std::uint64_t ownTime();

 private:
  enum class State : std::uint32_t { kNone, kStarting, kRunning, kMissing };

  static void* run(void* self);
  void loop();

  std::atomic<State> state_{State::kNone};
  std::uint32_t word_ = 0;    // grows with each wake-up; what it sleeps on when idle
  std::uint32_t parked_ = 0;  // 1: it calls the driver no more
  std::atomic<bool> stop_{false};
};

}  // namespace divvy::interposer
