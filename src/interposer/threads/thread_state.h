// State that the library keeps for each application thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

// A line that one thread at a time writes. Counters only grow, over all threads that have used the
// line.
struct alignas(64) ThreadLine {
  std::atomic<std::uint32_t> taken;
  // The grant word under which a call of the thread went to the driver and has not returned; 0:
  // none. In the shared line, the number of such calls.
  std::atomic<std::uint32_t> admitted;
  // 1: a call of the thread that may touch swappable memory went to the driver and has not
  // returned. In the shared line, the number of such calls.
  std::atomic<std::uint32_t> touching;
  std::atomic<std::uint64_t> free;     // launch-like calls that found the gate open
  std::atomic<std::uint64_t> exempt;   // those that found it not open and passed unmetered
  std::atomic<std::uint64_t> metered;  // those that were admitted under a grant
};

struct ThreadState {
  std::uint32_t depth;  // above 0: inside a hook; nested driver calls pass untouched
  bool opening;         // this thread is loading the real driver
  bool callback;        // inside a host function that the driver calls
  bool forking;         // fork handlers run
  // The thread's calls that need the mark of that name in the line; several if a signal handler's
  // call came in between.
  std::uint8_t touching;
  bool shared_line;  // `line` is the one that several threads share
  ThreadLine* line;  // null until the first launch
};

extern "C" {
// constinit: no guard, no initialiser; initial-exec: one instruction away.
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) constinit thread_local ThreadState divvy_thread;
}

// The last line is shared by all threads beyond the others; a few of its counts may be lost.
inline constexpr unsigned kThreadLines = 512;

extern "C" {
extern __attribute__((visibility("hidden"))) constinit ThreadLine divvy_thread_lines[kThreadLines];
}

inline bool isShared(const ThreadLine& line) {
  return &line == &divvy_thread_lines[kThreadLines - 1];
}

// Returns how many of the first lines were ever taken, the shared one aside. Any thread.
unsigned usedThreadLines();

// Calls visit(line) for every line that was ever taken. Any thread.
template <typename Visit>
void forEachThreadLine(Visit visit) {
  const unsigned used = usedThreadLines();
  for (unsigned i = 0; i < used; ++i) visit(divvy_thread_lines[i]);
  visit(divvy_thread_lines[kThreadLines - 1]);
}

// Gives the calling thread a line of its own and returns it. If all are taken, it is the last line,
// which threads share. The line becomes free when the thread ends.
ThreadLine* takeThreadLine();

// Sums over all lines. Any thread.
std::uint64_t countedFree();
std::uint64_t countedExempt();
std::uint64_t countedMetered();

// For the child of a fork, which has one thread and has launched nothing.
void forgetThreadLines();

// Marks the body of a hook. The driver may call its own public entry points from inside; they reach
// the hooks if the driver is not linked symbolically. Such calls are not accounted.
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
