// Contexts and the per-thread stack of current ones.
#pragma once

#include "abi/cuda_types.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "device.h"

namespace divvy::simgpu {

struct ExecContext;  // engine.h: what the execution half keeps per context

class Context {
 public:
  Context(Device& device, unsigned flags, bool primary);

  Device& device() const { return device_; }
  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
  bool isPrimary() const { return primary_; }
  std::uint64_t id() const { return id_; }

  // A fault on the device poisons the context: this error is what every later call in it returns.
  CUresult sticky() const { return sticky_.load(std::memory_order_acquire); }
  // First fault wins. Any thread.
  void poison(CUresult error);

  bool canAccess(const Device& peer) const;

  unsigned flags;                                   // CUctx_flags
  unsigned api_version;                             // what cuCtxGetApiVersion answers
  CUgreenCtx green = nullptr;                       // set when made by cuCtxFromGreenCtx
  int sm_count;                                     // of the device, fewer in a green context
  std::array<std::atomic<std::size_t>, 16> limits;  // indexed by CUlimit
  CUfunc_cache cache_config{};
  CUsharedconfig shared_config{};
  std::mutex mutex;               // guards peers
  std::set<const Device*> peers;  // cuCtxEnablePeerAccess
  ExecContext* exec = nullptr;    // owned by the execution half

 private:
  Device& device_;
  const bool primary_;
  const std::uint64_t id_;
  std::atomic<CUresult> sticky_{CUDA_SUCCESS};
};

// The handle as a live context, or nullptr. Never touches memory of a dead one.
Context* findContext(CUcontext handle);
// Top of the calling thread's stack; nullptr when the stack is empty or its top was destroyed.
Context* currentContext();
// The handle on top of the stack, alive or not.
CUcontext currentHandle();

// Makes a context, charges its overhead to the card and tells the execution half. Not pushed.
CUresult makeContext(Device& device, unsigned flags, bool primary, Context** out);
// Waits for its work, frees everything it owns, refunds its overhead. The handle is dead
// afterwards.
void endContext(Context* context);
// References on the primary context, as cuDevicePrimaryCtxRetain and Release count them.
CUresult retainPrimary(Device& device, Context** out);
CUresult releasePrimary(Device& device);

}  // namespace divvy::simgpu
