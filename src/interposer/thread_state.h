// What one thread of the application carries for us.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// A line that one thread at a time writes. Counters only grow, over all threads that ever had it.
struct alignas(64) ThreadLine {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint64_t> launches;  // launch-like calls that passed the gate
};

struct ThreadState {
  std::uint32_t depth;  // > 0: inside one of our hooks; nested driver calls pass untouched
  bool opening;         // the real driver is being loaded by this thread
  ThreadLine* line;     // null until the first launch
};

extern "C" {
// constinit: no guard, no initialiser; initial-exec: one instruction away.
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadState divvy_thread;
}

// Gives the calling thread a line of its own (or, when all are taken, the shared last one) and
// returns it. The line returns to the stock when the thread ends.
ThreadLine* takeThreadLine();

// Sum over all lines. Any thread.
std::uint64_t countedLaunches();

// For the child of a fork, which has one thread and has launched nothing.
void forgetThreadLines();

// Marks a hook's body: calls that the driver makes to its own public entry points from inside (they
// come back to us when it is not linked symbolically) are not ours to account.
class Inside {
 public:
  Inside() : outermost_(divvy_thread.depth++ == 0) {}
  ~Inside() { --divvy_thread.depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  bool nested() const { return !outermost_; }

 private:
  bool outermost_;
};

}  // namespace divvy::interposer
