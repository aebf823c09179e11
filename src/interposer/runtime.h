// The interposer's one object. Everything that outlives a call is in here (and, per thread, in
// divvy_thread; per entry point, in divvy_cuda_real).
#pragma once

#include <atomic>
#include <cstdint>

#include "accounting/collectives.h"
#include "accounting/contexts.h"
#include "accounting/graph_memory.h"
#include "accounting/mempool_tracker.h"
#include "accounting/vmm_handles.h"
#include "allocator/app_mappings.h"
#include "allocator/arena.h"
#include "allocator/async_allocator.h"
#include "allocator/swappable_allocator.h"
#include "allocator/vmm_backing.h"
#include "allocator/vmm_proxy_handles.h"
#include "cuda/capture_tracker.h"
#include "cuda/context_guard.h"
#include "device/device_map.h"
#include "ipc/export.h"
#include "ipc/import.h"
#include "launch/launch_gate.h"
#include "launch/usage_meter.h"
#include "loader/driver_table.h"
#include "operands/graph_working_set.h"
#include "paging/access_recency.h"
#include "paging/chunk_table.h"
#include "paging/host_preallocator.h"
#include "paging/memory_pressure.h"
#include "paging/pager.h"
#include "paging/residency_gate.h"
#include "paging/swap_report.h"
#include "paging/swap_store.h"
#include "support/address_map.h"
#include "support/faults.h"
#include "support/slab.h"
#include "tenant/tenant.h"

namespace divvy::interposer {

// A host function on its way through a stream.
struct HostCall {
  std::atomic<std::uint32_t> taken;
  std::uint32_t number;  // of this record
  void* function;
  void* data;
};

struct Runtime {
  Tenant tenant;
  Driver driver;
  DeviceMap devices;
  Collectives collectives;

  AddressMap blocks;        // by device address
  AddressMap arrays;        // by CUarray or CUmipmappedArray
  AddressMap array_owners;  // the same keys; `bytes` is the CUcontext that an array dies with
  AddressMap contexts;      // by CUcontext, those made by cuCtxCreate
  AddressMap context_uses;  // by CUcontext; `bytes` counts cuCtxAttach
  PrimaryContexts primaries;
  MempoolTracker pools;
  GraphMemory graphs;
  VmmHandles vmm;
  VmmProxyHandles tokens;
  AppMappings views;
  ChunkTable chunks;
  Backing backing;
  Swappable swappable;
  Arenas arenas;
  IpcExports ipc_exports;
  IpcImports ipc_imports;
  AsyncAllocator stream_memory;
  Pressure pressure;
  UsageMeter meter;

  LaunchGate gate;
  CaptureTracker captures;

  SwapReport swap_board;
  ResidencyGate memory_gate;
  ContextGuard context_use;
  AccessRecency last_use;
  GraphWorkingSet graph_uses;
  SwapStore host_store;
  HostPreallocator host_ahead;
  Pagers pagers;

  Slab<HostCall> host_calls;

  // Memory of ours had SYNC_MEMOPS at some time in this process.
  std::atomic<bool> sync_memops{false};

  // A stream capture was begun at some time in this process.
  std::atomic<bool> captures_begun{false};

  std::atomic<bool> fork_watched{false};
  std::atomic<std::uint64_t> context_bytes{0};  // of this process' contexts, for display
  // Forked off a process that had used the driver, which serves no such child. It has none of that
  // process's other threads: what they held stays held, the loader's locks among it.
  std::atomic<bool> forked{false};
  std::atomic<std::uint64_t> refusals{0};  // allocations answered with out-of-memory by us
  std::atomic<std::uint64_t> fault_counts[kFaultCodes] = {};
};

extern "C" {
extern __attribute__((visibility("hidden"))) Runtime divvy_runtime;
}

// Sees to it that a forked child starts over: it owns no memory, no context and no slot, and locks
// that its parent's threads held are free. Once per process.
void watchForks();

inline Runtime& runtime() {
  return divvy_runtime;
}

}  // namespace divvy::interposer
