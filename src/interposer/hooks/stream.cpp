// Streams: records of a stream end with it, and host functions are distinguished from threads of
// the application.
#include "cuda/capture_scope.h"
#include "runtime.h"
#include "threads/thread_state.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

template <Cu kId>
CUresult destroyStream(CUstream stream) {
  const DriverCallScope inside;
  if (inside.nested()) return real<kId>()(stream);
  runtime().meter.forgetStream(stream);
  const CUresult result = real<kId>()(stream);
  if (result == CUDA_SUCCESS) runtime().captures.ended(stream);
  return result;
}

// Returns the record before the function runs, which may never return.
template <typename Function, typename... First>
void runInCallback(void* record, First... first) {
  auto* const call = static_cast<HostCall*>(record);
  auto* const function = reinterpret_cast<Function>(call->function);
  void* const data = call->data;
  runtime().host_calls.give(call->number);
  divvy_thread.callback = true;
  function(first..., data);
  divvy_thread.callback = false;
}

void runHostFunction(void* record) {
  runInCallback<CUhostFn>(record);
}

void runStreamCallback(CUstream stream, CUresult status, void* record) {
  runInCallback<CUstreamCallback>(record, stream, status);
}

// A record of the function. Null if the driver must run it directly: if it cannot wait, if it may
// run more than once (as part of a graph), or if there is no memory for a record.
template <typename Function>
HostCall* recordOf(CUstream stream, bool per_thread, Function function, void* data) {
  if (function == nullptr || divvy_thread.depth != 0 || !runtime().gate.attached()) return nullptr;
  if (runtime().captures.open() && mayBeCapturing(stream, per_thread)) return nullptr;
  const std::uint32_t number = runtime().host_calls.take();
  if (number == Slab<HostCall>::kNone) return nullptr;
  HostCall& record = runtime().host_calls.at(number);
  record.number = number;
  record.function = reinterpret_cast<void*>(function);
  record.data = data;
  return &record;
}

template <Cu kId, bool kPerThread, typename... More>
CUresult launchHost(CUstream stream, CUhostFn function, void* data, More... more) {
  HostCall* const record = recordOf(stream, kPerThread, function, data);
  const DriverCallScope inside;
  if (record == nullptr) return real<kId>()(stream, function, data, more...);
  const CUresult result = real<kId>()(stream, runHostFunction, record, more...);
  if (result != CUDA_SUCCESS) runtime().host_calls.give(record->number);
  return result;
}

template <Cu kId, bool kPerThread>
CUresult addCallback(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
  HostCall* const record = recordOf(stream, kPerThread, function, data);
  const DriverCallScope inside;
  if (record == nullptr) return real<kId>()(stream, function, data, flags);
  const CUresult result = real<kId>()(stream, runStreamCallback, record, flags);
  if (result != CUDA_SUCCESS) runtime().host_calls.give(record->number);
  return result;
}

}  // namespace

DIVVY_HOOK(cuStreamDestroy)(CUstream stream) noexcept {
  return destroyStream<Cu::cuStreamDestroy>(stream);
}

DIVVY_HOOK(cuStreamDestroy_v2)(CUstream stream) noexcept {
  return destroyStream<Cu::cuStreamDestroy_v2>(stream);
}

DIVVY_HOOK(cuLaunchHostFunc)(CUstream stream, CUhostFn function, void* data) noexcept {
  return launchHost<Cu::cuLaunchHostFunc, false>(stream, function, data);
}

DIVVY_HOOK(cuLaunchHostFunc_ptsz)(CUstream stream, CUhostFn function, void* data) noexcept {
  return launchHost<Cu::cuLaunchHostFunc_ptsz, true>(stream, function, data);
}

DIVVY_HOOK(cuLaunchHostFunc_v2)
(CUstream stream, CUhostFn function, void* data, unsigned int mode) noexcept {
  return launchHost<Cu::cuLaunchHostFunc_v2, false>(stream, function, data, mode);
}

DIVVY_HOOK(cuLaunchHostFunc_v2_ptsz)
(CUstream stream, CUhostFn function, void* data, unsigned int mode) noexcept {
  return launchHost<Cu::cuLaunchHostFunc_v2_ptsz, true>(stream, function, data, mode);
}

DIVVY_HOOK(cuStreamAddCallback)
(CUstream stream, CUstreamCallback function, void* data, unsigned int flags) noexcept {
  return addCallback<Cu::cuStreamAddCallback, false>(stream, function, data, flags);
}

DIVVY_HOOK(cuStreamAddCallback_ptsz)
(CUstream stream, CUstreamCallback function, void* data, unsigned int flags) noexcept {
  return addCallback<Cu::cuStreamAddCallback_ptsz, true>(stream, function, data, flags);
}
