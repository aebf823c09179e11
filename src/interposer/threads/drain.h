// The drain protocol of both gates. A thread shows that it is inside the driver. Another thread
// proves that no thread is inside, or on its way there, because of an older word of a gate.
//
// The word is the grant's word (LaunchGate) or ResidencyGate's own word. The mark is a field of the
// thread's ThreadLine: `admitted` for the launch gate, `touching` for the residency gate.
//
//   A thread that calls the driver              The thread that drains
//   C1  reads a word w that admits calls        D1  observes, or writes, a word d that does not
//   C2  writes its mark                         D2  makes every thread of the process fence
//   C3  fences                                  D3  reads all marks
//   C4  reads the word again: still w?          D4  reads the counts: the meter, the lines
//   C5  counts its work as in flight
//   C6  calls the driver
//   C7  clears its mark
//
// A thread that finds another word in C4 clears its mark and does not go. D3 fails if it finds a
// mark under another word than d; the drain is tried again later. A mark under d itself is a call
// that was let through during the hold, and proves nothing against the drain.
//
// Memory orders
//   C2  relaxed store; in the shared line a sequentially consistent read-modify-write
//   C3  with membarrier: only the compiler keeps C2 before C4. Without: a seq_cst fence. The
//       shared line needs neither: a locked instruction is a full barrier on x86-64, and on aarch64
//       no acquiring load passes an earlier releasing store.
//   C4  acquire
//   C7  release
//   D1  acquire load, or sequentially consistent read-modify-write
//   D2  with membarrier: MEMBARRIER_CMD_PRIVATE_EXPEDITED. Without: a seq_cst fence.
//   D3  acquire
//
// Claim: if D3 finds no other mark, each call that passed C4 under an older word than d has left
// the driver, and D4 sees its count of C5.
//
// Proof
//   1. D2 orders each thread against the drain. With membarrier, each running thread executes a
//      full barrier during D2, and every other thread executes one before it runs again. That
//      barrier lies either after C2 or before C4, because C2 precedes C4 in the code. Without
//      membarrier, C3 and D2 are two seq_cst fences: one precedes the other.
//   2. The barrier lies after C2 (or C3 precedes D2): D3 reads the mark, or a later value of it. A
//      later value is that of C7. C7 releases and D3 acquires, so D4 sees C5, and C6 has returned.
//      Or it is a mark under d: that thread waited at the gate after C7, and a wait begins with a
//      sequentially consistent read-modify-write (WorkReport). A host function's thread and a fork
//      handler never wait: of their calls D4 is sure on x86-64, where stores keep their order.
//   3. The barrier lies before C4 (or D2 precedes C3): D1 precedes C4, so C4 reads d or a later
//      word, which is not w: each change of a word changes the number in its upper bits. So the
//      thread does not go.
//   4. D3 finds the thread's line: the line was added to the lines in use when the thread took it,
//      which precedes C2. Case 2 covers that store as well. A thread that ends inside the driver
//      gives its line back, which clears the mark: it does not come out of the driver again.
//
// The same with a bit in place of the word (DrainMonitor: kWorkInFlight). D1 clears the bit. Calls
// read the bit after C4 and before C5, and set it if it is clear. D3 accepts no mark, and D4 reads
// the number of launches and the latest activation. Case 2: the launch is inside, or is counted.
// Case 3: the launch finds the bit clear, announces its activation and sets the bit. If D3 or D4
// finds a launch, D sets the bit again.
//
// Without D1 and D2, D3 still answers whether a launch that the meter has counted has left the
// driver (SettlePass): the meter's account is published with release in C5, after C2. A reader that
// acquires the account finds the mark, or its clearing after C6.
#pragma once

#include <atomic>
#include <cstdint>

#include "threads/thread_state.h"

namespace divvy::interposer {

// C7: the thread is out of the driver again, or did not go in. clearOwnMark() is for a thread with
// a line of its own.
inline void clearOwnMark(std::atomic<std::uint32_t>& mark) {
  mark.store(0, std::memory_order_release);
}
inline void clearMark(std::atomic<std::uint32_t>& mark) {
  if (__builtin_expect(divvy_thread.shared_line, 0)) {
    mark.fetch_sub(1, std::memory_order_release);
  } else {
    clearOwnMark(mark);
  }
}

// C2 to C4 of the calling thread, with `value` as its mark. `needsFence()` returns whether the
// thread must fence itself; it is called only in a line of the thread's own. `unchanged()` reads
// the word with acquire and compares. Returns true if the thread is inside; clearMark() must
// follow. Otherwise there is no mark. Both are to be always_inline, as launches pay for them.
template <typename NeedsFence, typename Unchanged>
__attribute__((always_inline)) inline bool markInside(std::atomic<std::uint32_t>& mark,
                                                      std::uint32_t value, NeedsFence needsFence,
                                                      Unchanged unchanged) {
  if (__builtin_expect(divvy_thread.shared_line, 0)) {
    mark.fetch_add(1, std::memory_order_seq_cst);
  } else {
    mark.store(value, std::memory_order_relaxed);
    if (needsFence()) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }
  if (__builtin_expect(unchanged(), 1)) return true;
  clearMark(mark);
  return false;
}

// The same for a thread with a line of its own, in a process with membarrier. clearOwnMark() must
// follow.
template <typename Unchanged>
__attribute__((always_inline)) inline bool markInsideUnfenced(std::atomic<std::uint32_t>& mark,
                                                              std::uint32_t value,
                                                              Unchanged unchanged) {
  mark.store(value, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(unchanged(), 1)) return true;
  clearOwnMark(mark);
  return false;
}

// Registers the process for membarrier; to be called before the first C3. Returns false if the
// kernel refuses: then threads fence themselves. May be called again.
bool registerDrainFence();

// D2. `threads_fence`: the opposite of registerDrainFence(). Returns false if the kernel
// failed.
bool fenceAllThreads(bool threads_fence);

// D3. Returns whether a call that was admitted under another word than `word` is still inside the
// driver. A call in the shared line counts under any word.
bool insideUnderOther(std::uint32_t word);

// D3 of the residency gate. Returns whether a call that may touch swappable memory is still inside
// the driver.
bool anyTouching();

}  // namespace divvy::interposer
