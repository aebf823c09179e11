// The interposer's only global object. It holds all state that outlives a call, except divvy_thread
// (per thread) and divvy_cuda_real (per entry point).
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
#include "loader/driver_table.h"
#include "meter/usage_meter.h"
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

// A host function that was put into a stream and has not run yet.
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
  AddressMap array_owners;  // the same keys; `bytes` is the CUcontext that the array ends with
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

  // Memory of this library had SYNC_MEMOPS at some time in this process.
  std::atomic<bool> sync_memops{false};

  // A stream capture began at some time in this process.
  std::atomic<bool> captures_begun{false};

  std::atomic<bool> fork_watched{false};
  std::atomic<std::uint64_t> context_bytes{0};  // of this process's contexts, for display
  // Set in a child forked off a process that had used the driver; the driver does not work in such
  // a child. It has none of the parent's other threads. Locks that these held stay held, including
  // locks of the loader.
  std::atomic<bool> forked{false};
  std::atomic<std::uint64_t> refusals{0};  // allocations refused by the library
  std::atomic<std::uint64_t> fault_counts[kFaultCodes] = {};
};

extern "C" {
extern __attribute__((visibility("hidden"))) Runtime divvy_runtime;
}

// Makes a forked child start without memory, context and slot, and with free locks, which threads
// of its parent may have held. To be called once per process.
void watchForks();

inline Runtime& runtime() {
  return divvy_runtime;
}

}  // namespace divvy::interposer
