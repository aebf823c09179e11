// The gate that keeps everybody away from memory that is not on the device: whoever may touch
// swappable memory is seen to be inside the driver, or waits until all of it is there.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "cuda/call_work.h"
#include "ledger/swap.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread and signal handler, but for the mover's part.
class ResidencyGate {
 public:
  // In force: swappable memory was asked for at some time. Until then nothing passes here.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Before the first address of such memory is known to anybody: from here on every call that may
  // touch memory comes here.
  void activate();

  // Before a driver's call that may touch memory, while this thread is not inside. CUDA_SUCCESS: it
  // is now, and leave() has to follow; else what the call is to be answered with. `work` may be
  // null; captured work touches nothing and does not wait.
  CUresult enter(ThreadLine* line, const CallWork* work) {
    if (__builtin_expect(goInside(line), 1)) return CUDA_SUCCESS;
    return enterSlowly(line, work);
  }
  // The same, where it takes no more than a mark.
  __attribute__((always_inline)) bool goInside(ThreadLine* line) {
    const std::uint32_t seen = word_.load(std::memory_order_acquire);
    return (seen & kStates) == 0 && mark(line, seen);
  }
  static void leave(ThreadLine* line) {
    if (__builtin_expect(divvy_thread.shared_line, 0)) {
      line->touching.fetch_sub(1, std::memory_order_release);
    } else {
      line->touching.store(0, std::memory_order_release);
    }
  }

  // Somebody allocated memory that is not on the device: to be called when the mover can find it
  // and before its address is told to the application.
  void shut();
  // Nobody is inside, and nobody comes in.
  bool closed() const { return (word_.load(std::memory_order_seq_cst) & kClosed) != 0; }
  bool isOpen() const { return (word_.load(std::memory_order_seq_cst) & kStates) == 0; }
  // Returns when the gate is open: CUDA_SUCCESS; else what a call is to be answered with by a
  // thread that must not wait.
  CUresult awaitOpen();

  // ---- of movers
  // Lets nobody in, and returns when nobody is inside and all work of this process has ended:
  // kNone. Else the gate is as it was. The calling thread has no context of its own afterwards.
  ledger::SwapRefusal close();
  // What stands now, for reopen().
  std::uint32_t word() const { return word_.load(std::memory_order_seq_cst); }
  // Lets everybody in, if nobody shut it since it was as in `seen`: by then all memory has to be
  // there. False: look again.
  bool reopen(std::uint32_t seen);
  // From here on nobody waits.
  void endForExit();
  void forgetAfterFork();

 private:
  // Bits of word_; above them a number that grows with each change.
  static constexpr std::uint32_t kMissing = 1;   // something is not on the device
  static constexpr std::uint32_t kDraining = 2;  // somebody may still be inside
  static constexpr std::uint32_t kClosed = 4;
  static constexpr std::uint32_t kStates = 7;
  static constexpr std::uint32_t kStep = 8;

  static std::uint32_t changed(std::uint32_t word, std::uint32_t states) {
    return ((word & ~kStates) + kStep) | states;
  }

  // Shows that the thread is on its way into the driver and looks again whether it may. Who drains
  // changed the word first, then had every thread of the process fence, and looks at the lines
  // last: it sees this thread inside, or this thread sees that word.
  __attribute__((always_inline)) bool mark(ThreadLine* line, std::uint32_t seen) {
    if (__builtin_expect(divvy_thread.shared_line, 0)) {
      line->touching.fetch_add(1, std::memory_order_seq_cst);
    } else {
      line->touching.store(1, std::memory_order_relaxed);
      if (fences_.load(std::memory_order_relaxed)) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
      } else {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
    }
    if (__builtin_expect(word_.load(std::memory_order_acquire) == seen, 1)) return true;
    leave(line);
    return false;
  }
  CUresult enterSlowly(ThreadLine* line, const CallWork* work);
  bool replace(std::uint32_t seen, std::uint32_t states);
  CUresult refusal() const;
  void wait(std::uint32_t seen, std::uint64_t since);
  bool overdue(std::uint64_t since, std::uint64_t now) const;
  std::uint64_t drainBound() const;
  bool beginDrain();
  void abandonDrain();
  ledger::SwapRefusal drain();
  bool awaitOutside(std::uint64_t until) const;

  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> active_{false};
  std::atomic<bool> exiting_{false};
  // No membarrier here: threads fence for themselves. The first two allocations may both say so.
  std::atomic<bool> fences_{false};
  std::atomic<bool> drain_busy_{false};  // a mover is in close()
  std::atomic<std::uint64_t> drain_since_{0};
};

// To be called before each swappable allocation: false where there can be none, for want of pages
// to show it on or of a thread that would move it. Cheap from the second time on.
bool startSwapping();

}  // namespace divvy::interposer
