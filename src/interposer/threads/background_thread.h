// The background thread, which settles launched work off the launch path. Pagers and IPC exports
// have threads of their own.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// One per process, in static storage; created at the first launch. Any thread.
class BackgroundThread {
 public:
  // Starts the thread, once.
  void begin() {
    if (state_.load(std::memory_order_relaxed) == State::kNone) wake();
  }
  // Starts the thread, or wakes it.
  void wake();

  // missing(): the thread could not be created; launching threads do its work while they wait.
  bool running() const { return state_.load(std::memory_order_acquire) == State::kRunning; }
  bool missing() const { return state_.load(std::memory_order_acquire) == State::kMissing; }

  // Returns when the thread has left the driver for good, or after 10 ms.
  void stop();

  // For the child of a fork, which has no such thread.
  void forgetAfterFork();

  // Returns the processor time, in nanoseconds, of the calling thread; to be called by the
  // background thread itself.
  static std::uint64_t ownTime();

 private:
  enum class State : std::uint32_t { kNone, kStarting, kRunning, kMissing };

  static void* run(void* self);
  void loop();

  std::atomic<State> state_{State::kNone};
  std::uint32_t word_ = 0;    // grows with each wake-up; futex of the idle thread
  std::uint32_t parked_ = 0;  // 1: it calls the driver no more
  std::atomic<bool> stop_{false};
};

}  // namespace divvy::interposer
