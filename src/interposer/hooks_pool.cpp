// Stream-ordered memory: cuMemAllocAsync and the pools it comes from.
#include "allocation.h"
#include "capture.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// The two forms of a stream argument: which default stream a null one means.
struct Plain {
  static CUresult isCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return real<Cu::cuStreamIsCapturing>()(stream, status);
  }
  static CUresult contextOf(CUstream stream, CUcontext* context) {
    return real<Cu::cuStreamGetCtx>()(stream, context);
  }
};
struct PerThread {
  static CUresult isCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return real<Cu::cuStreamIsCapturing_ptsz>()(stream, status);
  }
  static CUresult contextOf(CUstream stream, CUcontext* context) {
    return real<Cu::cuStreamGetCtx_ptsz>()(stream, context);
  }
};

// An allocation in a captured stream becomes a node of a graph, and takes nothing from the card.
template <typename Form>
bool capturing(CUstream stream) {
  if (!runtime().captures_begun.load(std::memory_order_relaxed)) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = Form::isCapturing(stream, &status);
  // The legacy stream cannot be used while a blocking one captures; the driver will say so.
  return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// The driver's device that a stream works on; false where it has none that we can ask for.
template <typename Form>
bool deviceOfStream(CUstream stream, CUdevice* device) {
  const RelaxedCapture relaxed;
  CUcontext current = nullptr;
  CUcontext context = nullptr;
  if (real<Cu::cuCtxGetCurrent>()(&current) != CUDA_SUCCESS) return false;
  if (Form::contextOf(stream, &context) != CUDA_SUCCESS || context == current) {
    return real<Cu::cuCtxGetDevice>()(device) == CUDA_SUCCESS;
  }
  if (real<Cu::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS) return false;
  const bool known = real<Cu::cuCtxGetDevice>()(device) == CUDA_SUCCESS;
  real<Cu::cuCtxPopCurrent_v2>()(&context);
  return known;
}

// Where an allocation comes from. Without a pool: nobody's that we know of, or, with `ours`, one of
// the tenant's that the book has no room for.
struct Source {
  Pool* pool = nullptr;
  bool ours = false;
};

// The pool that cuMemAllocAsync takes from.
template <typename Form>
Source currentPool(CUstream stream) {
  const DeviceTable* table = runtime().devices.get();
  CUdevice device = 0;
  if (table == nullptr || !deviceOfStream<Form>(stream, &device)) return {};
  const unsigned index = table->ledgerIndex(device);
  if (index == kNoDevice) return {};
  CUmemoryPool handle = nullptr;
  const RelaxedCapture relaxed;
  if (real<Cu::cuDeviceGetMemPool>()(&handle, device) != CUDA_SUCCESS) return {};
  return {runtime().pools.enter(handle, index), true};
}

// A pool that the application names: one that it made, or a device's default one.
Source namedPool(CUmemoryPool handle) {
  if (Pool* known = runtime().pools.find(handle)) return {known, true};
  const DeviceTable* table = runtime().devices.get();
  const RelaxedCapture relaxed;
  for (CUdevice device = 0; table != nullptr && device < DeviceTable::kMostDevices; ++device) {
    const unsigned index = table->ledgerIndex(device);
    CUmemoryPool pool = nullptr;
    if (index == kNoDevice ||
        real<Cu::cuDeviceGetDefaultMemPool>()(&pool, device) != CUDA_SUCCESS || pool != handle) {
      continue;
    }
    return {runtime().pools.enter(handle, index), true};
  }
  return {};
}

// The most by which an allocation of `bytes` can make the pool grow.
std::uint64_t mostGrowth(const Pool& pool, std::uint64_t bytes) {
  const std::uint64_t step = pool.fine.load(std::memory_order_relaxed) ? kFinePoolStep : kPoolStep;
  const std::uint64_t rounded = (bytes + step - 1) & ~(step - 1);
  return rounded < bytes ? UINT64_MAX : rounded;
}

template <typename Call>
CUresult allocateFromPool(Pool& pool, CUdeviceptr* out, std::uint64_t bytes, Cu site, Call call) {
  const std::uint64_t growth = mostGrowth(pool, bytes);
  if (!reserveOrReclaim(pool.device, growth)) return refuse();
  pool.charge.begin(growth);
  const CUresult result = call();
  if (result == CUDA_SUCCESS && out != nullptr) {
    pool.live.fetch_add(1, std::memory_order_acq_rel);
    remember(runtime().blocks, *out,
             {runtime().pools.indexOf(&pool), static_cast<std::uint8_t>(pool.device),
              BlockKind::kPooled},
             site);
    notePinned({Verdict::kAccount, pool.device}, PinReason::kPool);
  }
  pool.charge.end(growth);
  runtime().pools.settle(&pool);
  return result;
}

// Decides who pays; `choose` finds the pool once the rest is clear.
template <typename Form, typename Choose, typename Call>
CUresult allocateAsync(Cu site, CUdeviceptr* out, std::uint64_t bytes, CUstream stream,
                       Choose choose, Call call) {
  const Inside inside;
  if (inside.nested()) return call();
  const TenantState state = runtime().tenant.state();
  if (state == TenantState::kNone) return call();
  if (capturing<Form>(stream)) {
    runtime().graphs.noteAllocationNode();
    return call();
  }
  if (state != TenantState::kReady) {
    noteFault(Fault::kPagesUnusable, static_cast<std::uint32_t>(site),
              static_cast<std::uint64_t>(runtime().tenant.openStatus()));
    return refuse();
  }
  const Source source = choose();
  if (source.pool != nullptr) return allocateFromPool(*source.pool, out, bytes, site, call);
  if (source.ours) {
    noteFault(Fault::kPoolUnknown, static_cast<std::uint32_t>(site), bytes);
    return refuse();
  }
  // No device, no context, or a pool of host memory or of another process.
  const CUresult result = call();
  if (result == CUDA_SUCCESS) noteFault(Fault::kUncounted, static_cast<std::uint32_t>(site), bytes);
  return result;
}

template <Cu kId, typename Form>
CUresult allocateFromCurrent(CUdeviceptr* out, std::size_t bytes, CUstream stream) {
  return allocateAsync<Form>(
      kId, out, bytes, stream, [=] { return currentPool<Form>(stream); },
      [=] { return real<kId>()(out, bytes, stream); });
}

template <Cu kId, typename Form>
CUresult allocateFromNamed(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool,
                           CUstream stream) {
  return allocateAsync<Form>(
      kId, out, bytes, stream, [=] { return namedPool(pool); },
      [=] { return real<kId>()(out, bytes, pool, stream); });
}

// The memory stays with its pool until a synchronisation gives it back; see synchronise.
template <Cu kId>
CUresult freeAsync(CUdeviceptr address, CUstream stream) {
  const Inside inside;
  const auto call = [=] { return real<kId>()(address, stream); };
  CUresult result;
  // Waits for all work, where the driver would free it when the stream comes to it.
  if (!inside.nested() && runtime().chunks.any() &&
      runtime().swappable.release(address, &result) == SwapAnswer::kDone) {
    return result;
  }
  return inside.nested() ? call() : freeFrom(runtime().blocks, address, kId, call);
}

// Every synchronisation is where pools give back to the card what they hold above their threshold.
template <Cu kId, typename... Arguments>
CUresult synchronise(Arguments... arguments) {
  const Inside inside;
  if (!inside.nested() && !gateIsOpen()) runtime().meter.mark();
  const CUresult result = real<kId>()(arguments...);
  if (inside.nested()) return result;
  if (runtime().pools.any()) runtime().pools.settleAll();
  if (runtime().graphs.any()) runtime().graphs.settle(kNoDevice);
  return result;
}

}  // namespace

DIVVY_HOOK(cuMemAllocAsync)(CUdeviceptr* dptr, std::size_t bytesize, CUstream stream) noexcept {
  return allocateFromCurrent<Cu::cuMemAllocAsync, Plain>(dptr, bytesize, stream);
}

DIVVY_HOOK(cuMemAllocAsync_ptsz)
(CUdeviceptr* dptr, std::size_t bytesize, CUstream stream) noexcept {
  return allocateFromCurrent<Cu::cuMemAllocAsync_ptsz, PerThread>(dptr, bytesize, stream);
}

DIVVY_HOOK(cuMemAllocFromPoolAsync)
(CUdeviceptr* dptr, std::size_t bytesize, CUmemoryPool pool, CUstream stream) noexcept {
  return allocateFromNamed<Cu::cuMemAllocFromPoolAsync, Plain>(dptr, bytesize, pool, stream);
}

DIVVY_HOOK(cuMemAllocFromPoolAsync_ptsz)
(CUdeviceptr* dptr, std::size_t bytesize, CUmemoryPool pool, CUstream stream) noexcept {
  return allocateFromNamed<Cu::cuMemAllocFromPoolAsync_ptsz, PerThread>(dptr, bytesize, pool,
                                                                        stream);
}

DIVVY_HOOK(cuMemFreeAsync)(CUdeviceptr dptr, CUstream stream) noexcept {
  return freeAsync<Cu::cuMemFreeAsync>(dptr, stream);
}

DIVVY_HOOK(cuMemFreeAsync_ptsz)(CUdeviceptr dptr, CUstream stream) noexcept {
  return freeAsync<Cu::cuMemFreeAsync_ptsz>(dptr, stream);
}

DIVVY_HOOK(cuMemPoolCreate)(CUmemoryPool* pool, const CUmemPoolProps* props) noexcept {
  const Inside inside;
  const CUresult result = real<Cu::cuMemPoolCreate>()(pool, props);
  if (inside.nested() || result != CUDA_SUCCESS || !runtime().tenant.ready()) return result;
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return result;
  const DeviceTable* table = runtime().devices.get();
  const unsigned device = table == nullptr ? kNoDevice : table->ledgerIndex(props->location.id);
  if (device == kNoDevice || runtime().pools.enter(*pool, device) != nullptr) return result;
  noteFault(Fault::kPoolUnknown, static_cast<std::uint32_t>(Cu::cuMemPoolCreate));
  real<Cu::cuMemPoolDestroy>()(*pool);
  *pool = nullptr;
  return refuse();
}

DIVVY_HOOK(cuMemPoolDestroy)(CUmemoryPool pool) noexcept {
  const Inside inside;
  Pool* known = inside.nested() ? nullptr : runtime().pools.find(pool);
  if (known != nullptr) runtime().pools.beginDestroy(known);
  const CUresult result = real<Cu::cuMemPoolDestroy>()(pool);
  if (known != nullptr) runtime().pools.endDestroy(known, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemPoolTrimTo)(CUmemoryPool pool, std::size_t keep) noexcept {
  const Inside inside;
  const CUresult result = real<Cu::cuMemPoolTrimTo>()(pool, keep);
  Pool* known = inside.nested() ? nullptr : runtime().pools.find(pool);
  if (known != nullptr) runtime().pools.settle(known);
  return result;
}

DIVVY_HOOK(cuStreamSynchronize)(CUstream stream) noexcept {
  return synchronise<Cu::cuStreamSynchronize>(stream);
}

DIVVY_HOOK(cuStreamSynchronize_ptsz)(CUstream stream) noexcept {
  return synchronise<Cu::cuStreamSynchronize_ptsz>(stream);
}

DIVVY_HOOK(cuEventSynchronize)(CUevent event) noexcept {
  return synchronise<Cu::cuEventSynchronize>(event);
}

DIVVY_HOOK(cuCtxSynchronize)() noexcept {
  return synchronise<Cu::cuCtxSynchronize>();
}

DIVVY_HOOK(cuCtxSynchronize_v2)(CUcontext ctx) noexcept {
  return synchronise<Cu::cuCtxSynchronize_v2>(ctx);
}
