#include "runtime.h"

#include <pthread.h>

#include "threads/thread_state.h"

extern "C" {
constinit divvy::interposer::Runtime divvy_runtime{};

// Identifies a fork handler's library to the C library. Start-up files define it; a library without
// them has this one.
__attribute__((weak, visibility("hidden"))) void* __dso_handle = &__dso_handle;
}

namespace divvy::interposer {
namespace {

// Runs in the child, before fork returns there. Stores only: nothing is freed, because an
// interrupted function of the forking thread may use the mappings.
void startOver() {
  Runtime& state = runtime();
  state.forked.store(true, std::memory_order_relaxed);
  state.blocks.forgetAfterFork();
  state.arrays.forgetAfterFork();
  state.array_owners.forgetAfterFork();
  state.contexts.forgetAfterFork();
  state.context_uses.forgetAfterFork();
  state.primaries.forgetAfterFork();
  state.pools.forgetAfterFork();
  state.graphs.forgetAfterFork();
  state.vmm.forgetAfterFork();
  state.tokens.forgetAfterFork();
  state.views.forgetAfterFork();
  state.chunks.forgetAfterFork();
  state.backing.forgetAfterFork();
  state.swappable.forgetAfterFork();
  state.arenas.forgetAfterFork();
  state.ipc_exports.forgetAfterFork();
  state.ipc_imports.forgetAfterFork();
  state.stream_memory.forgetAfterFork();
  state.pressure.waiting.store(0, std::memory_order_relaxed);
  state.host_calls.forgetAfterFork();
  state.gate.forgetAfterFork();
  state.meter.forgetAfterFork();
  state.captures.forgetAfterFork();
  state.swap_board.forgetAfterFork();
  state.memory_gate.forgetAfterFork();
  state.context_use.forgetAfterFork();
  state.last_use.forgetAfterFork();
  state.graph_uses.forgetAfterFork();
  state.host_store.forgetAfterFork();
  state.host_ahead.forgetAfterFork();
  state.pagers.forgetAfterFork();
  state.captures_begun.store(false, std::memory_order_relaxed);
  state.refusals.store(0, std::memory_order_relaxed);
  state.context_bytes.store(0, std::memory_order_relaxed);
  for (auto& count : state.fault_counts) count.store(0, std::memory_order_relaxed);
  forgetThreadLines();
  state.tenant.account().startOverInChild();
}

// Handlers that were registered before ours run between these two.
void beginFork() {
  divvy_thread.forking = true;
}

void endFork() {
  divvy_thread.forking = false;
}

}  // namespace

void watchForks() {
  if (runtime().fork_watched.exchange(true, std::memory_order_acq_rel)) return;
  ::pthread_atfork(beginFork, endFork, startOver);
}

}  // namespace divvy::interposer
