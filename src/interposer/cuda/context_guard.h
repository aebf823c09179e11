// When our own threads may use the contexts of the application, which may end at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"

namespace divvy::interposer {

// One per process, in static storage.
class ContextGuard {
 public:
  // ---- for who uses contexts that are not his own: any thread, which may nest it. No context is
  // ended until end(). False: one is about to end, or the process.
  bool begin();
  void end();
  // Somebody waits for end().
  bool wanted() const { return endings_.load(std::memory_order_seq_cst) != 0; }

  // How many calls that may have ended one there were.
  std::uint32_t ended() const { return ended_.load(std::memory_order_acquire); }
  // A context of the process on a ledger device, between begin() and end(); null: there is none.
  static CUcontext on(unsigned device);
  // Waits for all work of this process on all devices. The calling thread has no current context
  // afterwards.
  CUresult synchronizeAll();

  // ---- for hooks: around a driver's call that may end a context. Returns when none of our threads
  // uses one any more, or after two seconds.
  void beginEnding();
  void endEnding() {
    ended_.fetch_add(1, std::memory_order_acq_rel);
    endings_.fetch_sub(1, std::memory_order_seq_cst);
  }

  // From here on none is used.
  void endForExit();
  // Exit handlers run, and the account ends with the process: a context that ends now is swept for
  // nothing.
  bool exiting() const { return exiting_.load(std::memory_order_acquire); }
  void forgetAfterFork();

 private:
  // Movers are one per device; others that find no place wait for one.
  static constexpr unsigned kMax = 32;
  struct User {
    std::atomic<std::uint32_t> thread;  // its number; 0: nobody
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

// The scope of such a call.
class ContextDestroyScope {
 public:
  ContextDestroyScope();
  ~ContextDestroyScope();
  ContextDestroyScope(const ContextDestroyScope&) = delete;
  ContextDestroyScope& operator=(const ContextDestroyScope&) = delete;
};

}  // namespace divvy::interposer
