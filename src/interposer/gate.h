// The one gate that work for the device passes.
#pragma once

#include <atomic>

#include "driver.h"
#include "interposer/cuda_hooks.h"
#include "thread_state.h"

// 0: open, which is all that this version knows. Anything else sends launches the slow way.
extern "C" {
extern __attribute__((visibility("hidden"))) std::atomic<std::uint32_t> divvy_gate;
}

namespace divvy::interposer {

// Where a launch goes that finds the gate not open. Returns when it may proceed.
void waitAtGate();

// Lets one launch-like call through: a relaxed load, and a count in a line of the thread's own.
// Calls that the driver makes from inside a call of ours pass uncounted.
inline void gate() {
  if (divvy_thread.depth != 0) return;
  if (__builtin_expect(divvy_gate.load(std::memory_order_relaxed) != 0, 0)) waitAtGate();
  ThreadLine* line = divvy_thread.line;
  if (__builtin_expect(line == nullptr, 0)) line = takeThreadLine();
  line->launches.store(line->launches.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

// A hook that does nothing but pass the gate. The driver's entry is called as the last thing, so
// that the compiler jumps there with the arguments in place.
template <abi::Cu kId, typename... Arguments>
inline CUresult gated(Arguments... arguments) {
  gate();
  return real<kId>()(arguments...);
}

}  // namespace divvy::interposer
