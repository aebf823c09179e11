// Stream-ordered memory: cuMemAllocAsync and the pools it comes from.
#include "accounting/allocation.h"
#include "cuda/capture_scope.h"
#include "runtime.h"

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
  static CUresult record(CUevent event, CUstream stream) {
    return real<Cu::cuEventRecord>()(event, stream);
  }
  static constexpr Cu kGetId = Cu::cuStreamGetId;
};
struct PerThread {
  static CUresult isCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return real<Cu::cuStreamIsCapturing_ptsz>()(stream, status);
  }
  static CUresult contextOf(CUstream stream, CUcontext* context) {
    return real<Cu::cuStreamGetCtx_ptsz>()(stream, context);
  }
  static CUresult record(CUevent event, CUstream stream) {
    return real<Cu::cuEventRecord_ptsz>()(event, stream);
  }
  static constexpr Cu kGetId = Cu::cuStreamGetId_ptsz;
};

// An allocation in a captured stream becomes a graph node, and takes nothing from the card.
template <typename Form>
bool capturing(CUstream stream) {
  if (!runtime().captures_begun.load(std::memory_order_relaxed)) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = Form::isCapturing(stream, &status);
  // The legacy stream cannot be used while a blocking one captures; the driver returns that error.
  return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// The driver's device of a stream; false if it cannot be determined.
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

// The position of a call in a stream; false: not a valid stream. Before CUDA 12 streams have no
// number, and memory freed in one waits for its event.
template <typename Form>
bool placeOf(CUstream stream, StreamRef* place) {
  const RelaxedCapture relaxed;
  *place = {};
  if (Form::contextOf(stream, &place->context) != CUDA_SUCCESS) return false;
  unsigned long long id = 0;
  if (runtime().driver.has(Form::kGetId) && real<Form::kGetId>()(stream, &id) == CUDA_SUCCESS) {
    place->id = id + 1;
  }
  return true;
}

bool swapsPool(const Pool& pool) {
  return swapsOn({ChargeVerdict::kAccount, pool.device});
}

// The source of an allocation. Without a pool: unknown, or with `ours` a pool of the tenant that
// the table has no room for.
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
  Pool* const pool = runtime().pools.enter(handle, index, device);
  if (pool != nullptr && swapsPool(*pool) && !pool->plain.load(std::memory_order_relaxed)) {
    CUmemoryPool usual = nullptr;
    if (real<Cu::cuDeviceGetDefaultMemPool>()(&usual, device) == CUDA_SUCCESS && usual == handle) {
      pool->plain.store(true, std::memory_order_relaxed);
    }
  }
  return {pool, true};
}

// A pool that the application names: its own, or a device's default one.
Source namedPool(CUmemoryPool handle) {
  if (Pool* known = runtime().pools.find(handle)) return {known, true};
  const DeviceTable* table = runtime().devices.get();
  const RelaxedCapture relaxed;
  for (CUdevice device = 0; table != nullptr && device < DeviceTable::kMaxDriverDevices; ++device) {
    const unsigned index = table->ledgerIndex(device);
    CUmemoryPool pool = nullptr;
    if (index == kNoDevice ||
        real<Cu::cuDeviceGetDefaultMemPool>()(&pool, device) != CUDA_SUCCESS || pool != handle) {
      continue;
    }
    Pool* const entered = runtime().pools.enter(handle, index, device);
    if (entered != nullptr) entered->plain.store(true, std::memory_order_relaxed);
    return {entered, true};
  }
  return {};
}

// The most by which an allocation of `bytes` can make the pool grow.
std::uint64_t mostGrowth(const Pool& pool, std::uint64_t bytes) {
  const std::uint64_t step = pool.fine.load(std::memory_order_relaxed) ? kFinePoolStep : kPoolStep;
  const std::uint64_t rounded = (bytes + step - 1) & ~(step - 1);
  return rounded < bytes ? UINT64_MAX : rounded;
}

// A pool with the properties of a default one; other properties only the driver implements.
bool isPlain(const CUmemPoolProps& props) {
  return props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED && props.handleTypes == 0 &&
         props.maxSize == 0 && props.usage == 0 && props.gpuDirectRDMACapable == 0;
}

// Also reclaims memory that was just freed in this stream, which the driver would reuse by itself.
template <typename Form>
bool reserveGrowth(const Pool& pool, std::uint64_t growth, CUstream stream) {
  if (reserveOrReclaim(pool.device, growth)) return true;
  if (!MempoolTracker::observeFrees(stream, Form::record)) return false;
  runtime().pools.trimAll(pool.device);
  return runtime().tenant.account().reserve(pool.device, growth) ==
         divvy::ledger::Admission::kGranted;
}

// `told`: the reason why this stays on the device was recorded already.
template <typename Form, typename Call>
CUresult allocateFromPool(Pool& pool, CUdeviceptr* out, std::uint64_t bytes, CUstream stream,
                          Cu site, bool told, Call call) {
  const std::uint64_t growth = mostGrowth(pool, bytes);
  if (!reserveGrowth<Form>(pool, growth, stream)) return refuseOverLimit(bytes);
  pool.charge.begin(growth);
  const CUresult result = countIfDeviceFull(call(), bytes);
  if (result == CUDA_SUCCESS && out != nullptr) {
    pool.live.fetch_add(1, std::memory_order_acq_rel);
    remember(runtime().blocks, *out,
             {runtime().pools.indexOf(&pool), static_cast<std::uint8_t>(pool.device),
              BlockKind::kPooled},
             site);
    if (!told) notePinned({ChargeVerdict::kAccount, pool.device}, PinReason::kPool);
  }
  pool.charge.end(growth);
  runtime().pools.settle(&pool);
  return result;
}

// Decides which tenant is charged; `choose` finds the pool after that. `caller`: return address of
// the hook.
template <typename Form, typename Choose, typename Call>
CUresult allocateAsync(Cu site, CUdeviceptr* out, std::uint64_t bytes, CUstream stream,
                       const void* caller, Choose choose, Call call) {
  const DriverCallScope inside;
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
    return refuse(RefusalCause::kNotAccountable, bytes);
  }
  const Source source = choose();
  const bool swaps = source.pool != nullptr && swapsPool(*source.pool);
  const bool stays = swaps && !mayBeSwapped({ChargeVerdict::kAccount, source.pool->device}, caller);
  if (swaps && !stays) {
    StreamRef place;
    CUresult result;
    if (placeOf<Form>(stream, &place) &&
        runtime().stream_memory.allocate(*source.pool, bytes, place, out, &result) ==
            HookOutcome::kDone) {
      return result;
    }
  }
  if (source.pool != nullptr)
    return allocateFromPool<Form>(*source.pool, out, bytes, stream, site, stays, call);
  if (source.ours) {
    noteFault(Fault::kPoolUnknown, static_cast<std::uint32_t>(site), bytes);
    return refuse(RefusalCause::kNotAccountable, bytes);
  }
  // No device, no context, or a pool of host memory or of another process.
  const CUresult result = call();
  if (result == CUDA_SUCCESS) noteFault(Fault::kUncounted, static_cast<std::uint32_t>(site), bytes);
  return result;
}

template <Cu kId, typename Form>
CUresult allocateFromCurrent(CUdeviceptr* out, std::size_t bytes, CUstream stream,
                             const void* caller) {
  return allocateAsync<Form>(
      kId, out, bytes, stream, caller, [=] { return currentPool<Form>(stream); },
      [=] { return real<kId>()(out, bytes, stream); });
}

template <Cu kId, typename Form>
CUresult allocateFromNamed(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                           const void* caller) {
  return allocateAsync<Form>(
      kId, out, bytes, stream, caller, [=] { return namedPool(pool); },
      [=] { return real<kId>()(out, bytes, pool, stream); });
}

// The pool keeps the memory until a synchronisation returns it; see synchronise.
template <Cu kId, typename Form>
CUresult freeAsync(CUdeviceptr address, CUstream stream) {
  const DriverCallScope inside;
  const auto call = [=] { return real<kId>()(address, stream); };
  StreamRef place;
  // In a graph the driver refuses to free other memory than its own.
  if (!inside.nested() && runtime().chunks.any() && !capturing<Form>(stream) &&
      placeOf<Form>(stream, &place)) {
    CUresult result;
    const auto record = [stream](CUevent event) {
      const RelaxedCapture relaxed;
      return Form::record(event, stream);
    };
    if (runtime().stream_memory.release(address, place, record, &result) == HookOutcome::kDone) {
      return result;
    }
  }
  return inside.nested() ? call() : freeFrom(runtime().blocks, address, kId, call);
}

// At every synchronisation pools return memory above their threshold to the card.
template <Cu kId, typename... Arguments>
CUresult synchronise(Arguments... arguments) {
  const DriverCallScope inside;
  if (!inside.nested() && !gateIsOpen()) runtime().meter.mark();
  const CUresult result = real<kId>()(arguments...);
  if (inside.nested()) return result;
  if (runtime().stream_memory.any()) runtime().stream_memory.afterWait();
  if (runtime().pools.any()) runtime().pools.settleAll();
  if (runtime().graphs.any()) runtime().graphs.settle(kNoDevice);
  return result;
}

// Null: the driver answers the attribute.
const Pool::HighWaterCounter* figureOf(const Pool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used;
    default:
      return nullptr;
  }
}

}  // namespace

DIVVY_HOOK(cuMemAllocAsync)(CUdeviceptr* dptr, std::size_t bytesize, CUstream stream) noexcept {
  return allocateFromCurrent<Cu::cuMemAllocAsync, Plain>(dptr, bytesize, stream,
                                                         __builtin_return_address(0));
}

DIVVY_HOOK(cuMemAllocAsync_ptsz)
(CUdeviceptr* dptr, std::size_t bytesize, CUstream stream) noexcept {
  return allocateFromCurrent<Cu::cuMemAllocAsync_ptsz, PerThread>(dptr, bytesize, stream,
                                                                  __builtin_return_address(0));
}

DIVVY_HOOK(cuMemAllocFromPoolAsync)
(CUdeviceptr* dptr, std::size_t bytesize, CUmemoryPool pool, CUstream stream) noexcept {
  return allocateFromNamed<Cu::cuMemAllocFromPoolAsync, Plain>(dptr, bytesize, pool, stream,
                                                               __builtin_return_address(0));
}

DIVVY_HOOK(cuMemAllocFromPoolAsync_ptsz)
(CUdeviceptr* dptr, std::size_t bytesize, CUmemoryPool pool, CUstream stream) noexcept {
  return allocateFromNamed<Cu::cuMemAllocFromPoolAsync_ptsz, PerThread>(
      dptr, bytesize, pool, stream, __builtin_return_address(0));
}

DIVVY_HOOK(cuMemFreeAsync)(CUdeviceptr dptr, CUstream stream) noexcept {
  return freeAsync<Cu::cuMemFreeAsync, Plain>(dptr, stream);
}

DIVVY_HOOK(cuMemFreeAsync_ptsz)(CUdeviceptr dptr, CUstream stream) noexcept {
  return freeAsync<Cu::cuMemFreeAsync_ptsz, PerThread>(dptr, stream);
}

DIVVY_HOOK(cuMemPoolCreate)(CUmemoryPool* pool, const CUmemPoolProps* props) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuMemPoolCreate>()(pool, props);
  if (inside.nested() || result != CUDA_SUCCESS || !runtime().tenant.ready()) return result;
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return result;
  const DeviceTable* table = runtime().devices.get();
  const unsigned device = table == nullptr ? kNoDevice : table->ledgerIndex(props->location.id);
  if (device == kNoDevice) return result;
  if (Pool* const entered = runtime().pools.enter(*pool, device, props->location.id)) {
    entered->plain.store(isPlain(*props), std::memory_order_relaxed);
    return result;
  }
  noteFault(Fault::kPoolUnknown, static_cast<std::uint32_t>(Cu::cuMemPoolCreate));
  real<Cu::cuMemPoolDestroy>()(*pool);
  *pool = nullptr;
  return refuse(RefusalCause::kNotAccountable, 0);
}

DIVVY_HOOK(cuMemPoolDestroy)(CUmemoryPool pool) noexcept {
  const DriverCallScope inside;
  Pool* known = inside.nested() ? nullptr : runtime().pools.find(pool);
  if (known != nullptr) runtime().pools.beginDestroy(known);
  const CUresult result = real<Cu::cuMemPoolDestroy>()(pool);
  if (known != nullptr && result == CUDA_SUCCESS) runtime().stream_memory.trim(*known, 0);
  if (known != nullptr) runtime().pools.endDestroy(known, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemPoolTrimTo)(CUmemoryPool pool, std::size_t keep) noexcept {
  const DriverCallScope inside;
  Pool* known = inside.nested() ? nullptr : runtime().pools.find(pool);
  std::uint64_t ours = 0;
  if (known != nullptr && swapsPool(*known)) {
    const std::uint64_t other = MempoolTracker::ask(*known, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    ours = runtime().stream_memory.trim(*known, keep > other ? keep - other : 0);
  }
  const CUresult result = real<Cu::cuMemPoolTrimTo>()(pool, keep > ours ? keep - ours : 0);
  if (known != nullptr) runtime().pools.settle(known);
  return result;
}

// A pool has driver memory and swappable memory. Their high-water marks were not reached at the
// same time, so their sum is at least the pool's.
DIVVY_HOOK(cuMemPoolGetAttribute)
(CUmemoryPool pool, CUmemPool_attribute attr, void* value) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuMemPoolGetAttribute>()(pool, attr, value);
  if (inside.nested() || result != CUDA_SUCCESS || !runtime().chunks.any()) return result;
  const Pool* known = runtime().pools.find(pool);
  if (known == nullptr) return result;
  const Pool::HighWaterCounter* figure = figureOf(*known, attr);
  if (figure == nullptr) return result;
  const bool high =
      attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  *static_cast<cuuint64_t*>(value) += (high ? figure->high : figure->now).load();
  return result;
}

DIVVY_HOOK(cuMemPoolSetAttribute)
(CUmemoryPool pool, CUmemPool_attribute attr, void* value) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuMemPoolSetAttribute>()(pool, attr, value);
  if (inside.nested() || result != CUDA_SUCCESS || !runtime().chunks.any()) return result;
  Pool* known = runtime().pools.find(pool);
  if (known != nullptr && attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) known->reserved.reset();
  if (known != nullptr && attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH) known->used.reset();
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
