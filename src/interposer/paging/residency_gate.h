// Keeps threads away from memory that is not on the device. A thread that may touch swappable
// memory is visibly inside the driver, or waits until all of that memory is resident.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "cuda/call_work.h"
#include "ledger/swap.h"
#include "threads/drain.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread and signal handler, except the part for pagers.
class ResidencyGate {
 public:
  // Returns whether swappable memory was ever requested. Before that no call passes this gate.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Puts the gate in force: every later call that may touch memory passes it. To be called before
  // the first address of swappable memory is known outside of this library.
  void activate();

  // To be called before a driver call that may touch memory, by a thread that is not inside.
  // Returns CUDA_SUCCESS if the thread is inside now; leave() must follow. Any other result is the
  // answer to the call. `work` may be null. Captured work touches no memory and does not wait.
  CUresult enter(ThreadLine* line, const CallWork* work) {
    if (__builtin_expect(goInside(line), 1)) return CUDA_SUCCESS;
    return enterSlowly(line, work);
  }
  // Enters as enter() does, but only if a mark suffices; otherwise returns false without effect.
  __attribute__((always_inline)) bool goInside(ThreadLine* line) {
    const std::uint32_t seen = word_.load(std::memory_order_acquire);
    return (seen & kStates) == 0 && mark(line, seen);
  }
  static void leave(ThreadLine* line) { clearMark(line->touching); }

  // Announces new memory that is not on the device. To be called after a pager can find that memory
  // and before the application receives its address.
  void shut();
  // Returns whether no thread is inside and none can enter.
  bool closed() const { return (word_.load(std::memory_order_seq_cst) & kClosed) != 0; }
  bool isOpen() const { return (word_.load(std::memory_order_seq_cst) & kStates) == 0; }
  // Returns CUDA_SUCCESS when the gate is open. For a thread that must not wait, returns the error
  // that answers its call.
  CUresult awaitOpen();

  // ---- for pager threads
  // Blocks entry and waits until no thread is inside and all work of this process has ended.
  // Returns kNone then; any other result leaves the gate as it was. The calling thread has no
  // current context afterwards.
  ledger::SwapRefusal close();
  // Returns the current word, for reopen().
  std::uint32_t word() const { return word_.load(std::memory_order_seq_cst); }
  // Opens the gate if it has not changed since `seen` was read; all memory must be resident by
  // then. Returns false if it has changed; the caller checks again.
  bool reopen(std::uint32_t seen);
  // Ends all waits, for good: the process ends.
  void endForExit();
  void forgetAfterFork();

 private:
  // Bits of word_. The bits above them hold a number that grows with each change.
  static constexpr std::uint32_t kMissing = 1;   // some memory is not on the device
  static constexpr std::uint32_t kDraining = 2;  // a thread may still be inside
  static constexpr std::uint32_t kClosed = 4;
  static constexpr std::uint32_t kStates = 7;
  static constexpr std::uint32_t kStep = 8;

  static std::uint32_t changed(std::uint32_t word, std::uint32_t states) {
    return ((word & ~kStates) + kStep) | states;
  }

  // Marks the thread as inside by the drain protocol (threads/drain.h); the drain changes the word.
  __attribute__((always_inline)) bool mark(ThreadLine* line, std::uint32_t seen) {
    const auto fences = [&]() __attribute__((always_inline)) {
      return fences_.load(std::memory_order_relaxed);
    };
    const auto same = [&]() __attribute__((always_inline)) {
      return word_.load(std::memory_order_acquire) == seen;
    };
    return markInside(line->touching, 1, fences, same);
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
  // Without membarrier, threads fence themselves. The first two allocations may both set it.
  std::atomic<bool> fences_{false};
  std::atomic<bool> drain_busy_{false};  // a pager is in close()
  std::atomic<std::uint64_t> drain_since_{0};
};

// Prepares the process for swappable memory; to be called before each swappable allocation. Returns
// false if there can be none, because the swap pages or a pager thread are missing. Cheap from the
// second call on.
bool startSwapping();

}  // namespace divvy::interposer
