// What one thread of the application carries for us.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// A line that one thread at a time writes. Counters only grow, over all threads that ever had it.
struct alignas(64) ThreadLine {
  std::atomic<std::uint32_t> taken;
  // The grant word under which a call of the thread went to the driver and has not returned; 0:
  // none. In the shared line, the number of such calls.
  std::atomic<std::uint32_t> admitted;
  // 1: a call of the thread that may touch swappable memory went to the driver and has not
  // returned. In the shared line, the number of such calls.
  std::atomic<std::uint32_t> touching;
  std::atomic<std::uint64_t> free;     // launch-like calls that found the gate open
  std::atomic<std::uint64_t> exempt;   // those that did not, and went for all that unmetered
  std::atomic<std::uint64_t> metered;  // those that were admitted under a grant
};

struct ThreadState {
  std::uint32_t depth;  // > 0: inside one of our hooks; nested driver calls pass untouched
  bool opening;         // the real driver is being loaded by this thread
  bool callback;        // inside a host function that the driver calls
  bool forking;         // fork's handlers run
  // Calls of the thread that need the mark of that name in the line: more than one when a signal
  // handler's came between.
  std::uint8_t touching;
  bool shared_line;  // line is the one that several threads have
  ThreadLine* line;  // null until the first launch
};

extern "C" {
// constinit: no guard, no initialiser; initial-exec: one instruction away.
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadState divvy_thread;
}

// Gives the calling thread a line of its own (or, when all are taken, the shared last one) and
// returns it. The line returns to the stock when the thread ends.
ThreadLine* takeThreadLine();

// Sums over all lines. Any thread.
std::uint64_t countedFree();
std::uint64_t countedExempt();
std::uint64_t countedMetered();

// True if a call that was admitted under another word than `word` is still inside the driver.
bool insideUnderOther(std::uint32_t word);

// True if a call that may touch swappable memory is still inside the driver.
bool anyTouching();

// For the child of a fork, which has one thread and has launched nothing.
void forgetThreadLines();

// Marks a hook's body: calls that the driver makes to its own public entry points from inside (they
// come back to us when it is not linked symbolically) are not ours to account.
class DriverCallScope {
 public:
  DriverCallScope() : outermost_(divvy_thread.depth++ == 0) {}
  ~DriverCallScope() { --divvy_thread.depth; }
  DriverCallScope(const DriverCallScope&) = delete;
  DriverCallScope& operator=(const DriverCallScope&) = delete;
  bool nested() const { return !outermost_; }

 private:
  bool outermost_;
};

}  // namespace divvy::interposer
