// When the library's own threads may use the application's contexts, which may end at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// One per process, in static storage.
class ContextGuard {
 public:
  // ---- for threads that use the application's contexts
  // Keeps contexts from ending until end(). Any thread; calls may nest. Returns false if a context,
  // or the process, is about to end.
  bool begin();
  void end();
  // Returns whether a thread waits for end().
  bool wanted() const { return endings_.load(std::memory_order_seq_cst) != 0; }

  // Returns the number of calls that may have ended a context.
  std::uint32_t ended() const { return ended_.load(std::memory_order_acquire); }
  // Returns a context of the process on a ledger device; null if there is none. To be called
  // between begin() and end().
  static CUcontext on(unsigned device);
  // Waits for all work of this process on all devices. The calling thread has no current context
  // afterwards.
  CUresult synchronizeAll();

  // ---- for hooks
  // Surround a driver call that may end a context. beginEnding() returns at once while the pagers
  // stop. Otherwise it returns when no thread of this library uses a context any more, or after two
  // seconds.
  void beginEnding();
  void endEnding() {
    ended_.fetch_add(1, std::memory_order_acq_rel);
    endings_.fetch_sub(1, std::memory_order_seq_cst);
  }

  // Ends all use of contexts for good: the process ends.
  void endForExit();
  // Returns whether exit handlers run. The account ends with the process, so a context that ends
  // now need not be swept.
  bool exiting() const { return exiting_.load(std::memory_order_acquire); }
  void forgetAfterFork();

 private:
  // There is one pager per device; threads that find no place wait for one.
  static constexpr unsigned kMax = 32;
  struct User {
    std::atomic<std::uint32_t> thread;  // thread number (gettid); 0: free
    std::uint32_t nested;               // of that thread
  };

  User* own(std::uint32_t self);
  User* take(std::uint32_t self);
  bool used() const;

  User users_[kMax] = {};
  std::atomic<std::uint32_t> endings_{0};
  std::atomic<std::uint32_t> ended_{0};
  std::atomic<bool> exiting_{false};
};

// The scope of a driver call that may end a context.
class ContextDestroyScope {
 public:
  ContextDestroyScope();
  ~ContextDestroyScope();
  ContextDestroyScope(const ContextDestroyScope&) = delete;
  ContextDestroyScope& operator=(const ContextDestroyScope&) = delete;
};

}  // namespace divvy::interposer
