// Interface of the execution half (streams, engines, capture) for the memory half.
#pragma once

#include "abi/cuda_types.h"

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/context/context.h"

namespace divvy::simgpu {

// A stream argument and the meaning of NULL at its entry point. It is the legacy stream, or the
// calling thread's own one (the _ptsz and _ptds twins).
struct StreamArgument {
  CUstream stream;
  bool per_thread;
};

namespace exec {

// A context was made (an error: the card has no place for another) / is about to end.
// contextEnding waits for its work (unless poisoned) and
// drops its streams, events and modules.
CUresult contextMade(Context& context);
void contextEnding(Context& context);

// True in a host function, callback or destructor of a user object, where the driver may not be
// called.
bool inHostFunction();
// Runs `call` on the thread that runs host functions, soon.
void callFromHostThread(std::function<void()> call);

// Waits for all work of this process on the device, as cuMemFree does.
CUresult synchronizeDevice(Device& device);
// Runs `change` when all work of this process that has ended took effect, and while no other does.
// Pending work sees the change; work that ended before does not. `change` must not call back into
// streams.
void betweenEffects(const std::function<void()>& change);
// Only within betweenEffects: memory of the device, or that it may access, is about to be unmapped.
// If pending work of this process touches it, the card counts that; with the fault `strict-unmap`
// the work's context is poisoned. Kernels with unknown accesses touch everything; with
// `strict-unmap=any` all kernels and memsets do.
void noteUnmap(Device& device, CUdeviceptr address, std::uint64_t bytes);
// A kernel accesses memory that was unmapped while it was pending. True: that is fatal to it.
bool noteLateTouch(Context& context);

// For calls that the capture rules call unsafe (cuMemAlloc, cuMemFree, ...): CUDA_SUCCESS, or
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED after invalidating the captures it disturbs.
CUresult checkUnsafeCall(Context& context);

// CUDA_ERROR_INVALID_HANDLE / CONTEXT_IS_DESTROYED for a bad stream; else its identity, which is
// equal for two arguments that name the same stream, and its context.
CUresult resolveStream(Context& current, StreamArgument stream, Context** context,
                       std::uint64_t* identity);

// Whether work put into the stream now goes into a graph (or an error: the capture is invalid).
CUresult streamIsCapturing(Context& current, StreamArgument stream, bool* capturing);
// Adds a memory node to the capture. Only for a capturing stream.
CUresult captureAlloc(Context& current, StreamArgument stream, std::size_t bytes,
                      CUdeviceptr* address);
CUresult captureFree(Context& current, StreamArgument stream, CUdeviceptr address);

// Runs `action` when everything put into the stream before has completed. The action must not call
// back into streams. `managed` prefetches and frees use this.
CUresult enqueueAction(Context& current, StreamArgument stream, std::function<void()> action);

}  // namespace exec
}  // namespace divvy::simgpu
