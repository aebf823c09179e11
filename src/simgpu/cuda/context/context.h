// Contexts and the per-thread stack of current ones.
#pragma once

#include "abi/cuda_types.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "cuda/context/device.h"

namespace divvy::simgpu {

struct ExecContext;  // engine.h: the execution half's data of a context

class Context {
 public:
  Context(Device& device, unsigned flags, bool primary);

  Device& device() const { return device_; }
  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
  bool isPrimary() const { return primary_; }
  std::uint64_t id() const { return id_; }
  bool alive() const { return alive_.load(std::memory_order_acquire); }

  // A fault on the device poisons the context: this error is what every later call in it returns.
  CUresult sticky() const { return sticky_.load(std::memory_order_acquire); }
  // First fault wins. Any thread.
  void poison(CUresult error);

  // Whether kernels of this context may touch memory of `peer`.
  bool canAccess(const Device& peer);

  // Takes back the state of a fresh context.
  void reset(unsigned new_flags);
  void setAlive(bool alive) { alive_.store(alive, std::memory_order_release); }

  unsigned flags;               // CUctx_flags
  unsigned api_version;         // result of cuCtxGetApiVersion
  CUgreenCtx green = nullptr;   // set when made by cuGreenCtxCreate
  bool free_of_charge = false;  // green contexts share the primary context's overhead
  int sm_count;                 // of the device, fewer in a green context
  int attached = 1;             // cuCtxAttach, cuCtxDetach
  std::array<std::atomic<std::size_t>, 16> limits;  // indexed by CUlimit
  std::atomic<std::uint64_t> limit_bytes{0};        // charged because of limits
  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<CUsharedconfig> shared_config{CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE};
  std::mutex mutex;               // guards peers
  std::set<const Device*> peers;  // cuCtxEnablePeerAccess
  ExecContext* exec = nullptr;    // owned by the execution half

 private:
  Device& device_;
  const bool primary_;
  const std::uint64_t id_;
  std::atomic<bool> alive_{false};
  std::atomic<CUresult> sticky_{CUDA_SUCCESS};
};

// Context objects are never deleted, because a thread may still have the handle current. The object
// of a primary context is used again when it is retained again.

// The handle as a live context, or nullptr (also for what never was a handle).
Context* findContext(CUcontext handle);
// Top of the calling thread's stack; nullptr when the stack is empty or its top was destroyed.
Context* currentContext();
// The handle on top of the stack, alive or not.
CUcontext currentHandle();

// The calling thread's stack.
void pushContext(CUcontext handle);
// The handle that was on top; nullptr when the stack was empty.
CUcontext popContext();
// Replaces the top; nullptr removes it.
void setTopContext(CUcontext handle);

// Makes a context, charges its overhead to the card and informs the execution half. Not pushed.
// CUDA_ERROR_OUT_OF_MEMORY if the overhead does not fit.
CUresult makeContext(Device& device, unsigned flags, CUgreenCtx green, int sm_count, Context** out);
// Waits for its work, frees everything it owns, refunds its overhead. The handle is dead
// afterwards.
void endContext(Context* context);
// References on the primary context, as cuDevicePrimaryCtxRetain, Release and Reset count them.
CUresult retainPrimary(Device& device, Context** out);
CUresult releasePrimary(Device& device);
CUresult resetPrimary(Device& device);

}  // namespace divvy::simgpu
