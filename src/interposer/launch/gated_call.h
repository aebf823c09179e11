// The hooks that only pass the gate. The path of a call is chosen here, inline, because every
// launch pays for the code that all launches share.
#pragma once

#include "cuda/call_work.h"
#include "cuda/capture_scope.h"
#include "launch/gate_pair.h"
#include "launch/launch_gate.h"
#include "loader/driver_table.h"
#include "operands/call_operands.h"
#include "runtime.h"
#include "threads/drain.h"
#include "threads/thread_state.h"

namespace divvy::interposer {

// The path of any call that found the gate not open.
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) CUresult gatedFully(Arguments... arguments) {
  constexpr WorkKind kKind = work_detail::kindOf<kId>();
  if constexpr (kKind == WorkKind::kCopy || kKind == WorkKind::kSet) {
    if (__builtin_expect(runtime().memory_gate.active(), 0)) noteUse<kId>(arguments...);
  }
  const CallWork work = workOf<kId>(arguments...);
  GatePass passage;
  enterGate(work, passage);
  if (__builtin_expect(passage.refused != CUDA_SUCCESS, 0)) return passage.refused;
  const CUresult result = real<kId>()(arguments...);
  leaveGate(passage, result);
  return result;
}

template <bool kMarked>
__attribute__((always_inline)) inline bool LaunchGate::enterQuickly(const CallWork& work,
                                                                    ThreadLine* line,
                                                                    Counted& counted) {
  UsageMeter& meter = runtime().meter;
  divvy_thread.depth = 1;  // keeps out a signal handler's launch
  if (meter.plain(work, counted) && !divvy_thread.shared_line && !runtime().captures.open() &&
      meter.usage().unsettledOn(counted.slot->device) + counted.estimate <=
          grant_.inflightBound()) {
    const std::uint32_t word = grant_.noted().quick<kMarked>();
    const auto same = [&]() __attribute__((always_inline)) {
      return __builtin_expect(grant_.word() == word, 1) &&
             __builtin_expect(board_.shows(ledger::kWorkInFlight), 1);
    };
    if (markInsideUnfenced(line->admitted, word, same)) {
      line->metered.store(line->metered.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
      meter.count(counted);
      return true;
    }
  }
  divvy_thread.depth = 0;
  return false;
}

__attribute__((always_inline)) inline void LaunchGate::leaveQuickly(ThreadLine* line,
                                                                    const Counted& counted,
                                                                    CUresult result) {
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) runtime().meter.takeBack(counted);
  clearOwnMark(line->admitted);
  divvy_thread.depth = 0;
}

// The path of launches where memory can be swapped, after gatedSlow().
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) CUresult gatedMarked(Arguments... arguments) {
  if (AccessRecency::due()) noteUse<kId>(arguments...);
  ThreadLine* line = divvy_thread.line;
  Counted counted;
  CUresult result = CUDA_SUCCESS;
  divvy_thread.depth = 1;
  bool done = false;
  if (divvy_thread.touching == 0 && runtime().memory_gate.goInside(line)) {
    if (runtime().gate.enterQuickly<true>(workOf<kId>(arguments...), line, counted)) {
      result = real<kId>()(arguments...);
      runtime().gate.leaveQuickly(line, counted, result);
      done = true;
    }
    ResidencyGate::leave(line);
  }
  divvy_thread.depth = 0;
  return done ? result : gatedFully<kId>(arguments...);
}

// The path of most launches under a grant.
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) CUresult gatedSlow(Arguments... arguments) {
  if constexpr (work_detail::kindOf<kId>() == WorkKind::kKernel) {
    ThreadLine* line = divvy_thread.line;
    Counted counted;
    if (__builtin_expect(
            runtime().gate.enterQuickly<false>(workOf<kId>(arguments...), line, counted), 1)) {
      const CUresult result = real<kId>()(arguments...);
      runtime().gate.leaveQuickly(line, counted, result);
      return result;
    }
    if (runtime().memory_gate.active()) return gatedMarked<kId>(arguments...);
  }
  return gatedFully<kId>(arguments...);
}

template <abi::Cu kId, typename... Arguments>
CUresult gatedFirst(Arguments... arguments);

// A synchronous call while memory of this library has the attribute SYNC_MEMOPS, which is unknown
// to the driver. The driver lets copies and fills within the device return before they are done.
// From the first such memory on, every synchronous call waits for its stream, whatever memory it
// uses.
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) CUresult synced(Arguments... arguments) {
  ThreadLine* const line = divvy_thread.line == nullptr ? takeThreadLine() : divvy_thread.line;
  const CUresult result =
      passesFreely(line) ? real<kId>()(arguments...) : gatedFully<kId>(arguments...);
  if (result != CUDA_SUCCESS) return result;
  constexpr bool kPerThread = work_detail::entryOf<kId>().mode != abi::StreamMode::kPlain;
  const DriverCallScope inside;
  const RelaxedCapture relaxed;
  return real<abi::Cu::cuStreamSynchronize>()(
      reinterpret_cast<CUstream>(kPerThread ? kPerThreadStream : kLegacyStream));
}

// A hook that only passes the gate. The chosen path is always the last action, so that the compiler
// jumps there with the arguments in place. Calls that the driver makes inside of a call of this
// library pass without being counted.
template <abi::Cu kId, typename... Arguments>
__attribute__((always_inline)) inline CUresult gated(Arguments... arguments) {
  if (divvy_thread.depth == 0) {
    if constexpr (work_detail::isSynchronous<kId, Arguments...>()) {
      if (__builtin_expect(runtime().sync_memops.load(std::memory_order_relaxed), 0)) {
        return synced<kId>(arguments...);
      }
    }
    ThreadLine* line = divvy_thread.line;
    if (__builtin_expect(line == nullptr, 0)) return gatedFirst<kId>(arguments...);
    if (!passesFreely(line)) return gatedSlow<kId>(arguments...);
  }
  return real<kId>()(arguments...);
}

// The first call of a thread.
template <abi::Cu kId, typename... Arguments>
__attribute__((noinline)) CUresult gatedFirst(Arguments... arguments) {
  takeThreadLine();
  return gated<kId>(arguments...);
}

// A hook of a call that starts no work but touches memory or keeps its address.
template <abi::Cu kId, typename... Arguments>
__attribute__((always_inline)) inline CUresult touching(Arguments... arguments) {
  const ResidentAccess memory;
  if (memory.refused() != CUDA_SUCCESS) return memory.refused();
  const DriverCallScope inside;
  return real<kId>()(arguments...);
}

}  // namespace divvy::interposer
