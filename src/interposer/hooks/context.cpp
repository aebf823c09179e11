// Contexts: cuCtxCreate* and cuCtxDestroy*, primary contexts, green contexts.
#include "accounting/allocation.h"
#include "accounting/contexts.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

PrimaryContexts& primaries() {
  return runtime().primaries;
}

// Runs a call that makes (or retains) the device's primary context.
template <typename Call>
CUresult activatePrimary(Cu site, CUdevice dev, Call call) {
  const ChargeTarget seat = seatOfDevice(dev, site);
  if (seat.verdict == ChargeVerdict::kForeign) return refusal(seat);
  // If the limit is unknown only memory is refused, and compute needs a context.
  if (seat.verdict != ChargeVerdict::kAccount) return call();
  const std::uint64_t bytes = contextBytes(seat.device);
  if (!primaries().admit(seat.device)) return refuseOverLimit(bytes);
  const CUresult result = countIfDeviceFull(call(), bytes);
  if (result != CUDA_SUCCESS) primaries().settle(seat.device, dev);
  if (result == CUDA_SUCCESS) runtime().gate.attach();
  return result;
}

// Runs a call that may end the device's primary context and everything in it.
template <typename Call>
CUresult endPrimary(CUdevice dev, Call call) {
  if (runtime().context_use.exiting()) return call();
  const DeviceTable* table = runtime().tenant.ready() ? runtime().devices.get() : nullptr;
  const unsigned device = table == nullptr ? kNoDevice : table->ledgerIndex(dev);
  const ContextDestroyScope ending;
  if (device != kNoDevice) runtime().meter.forgetContext(primaries().handle(device));
  const CUresult result = call();
  if (device == kNoDevice) return result;
  const CUcontext handle = primaries().handle(device);
  if (primaries().settle(device, dev)) {
    runtime().captures.contextEnded(handle);
    sweepAfterContext(device, handle);
  } else if (handle != nullptr && primaries().charged(device)) {
    runtime().meter.noteContext(handle, device);
  }
  return result;
}

template <typename Call>
CUresult retainPrimary(CUcontext* out, CUdevice dev, Call call) {
  const DriverCallScope inside;
  if (inside.nested()) return call();
  const CUresult result = activatePrimary(Cu::cuDevicePrimaryCtxRetain, dev, call);
  if (result != CUDA_SUCCESS || out == nullptr || !runtime().tenant.ready()) return result;
  const DeviceTable* table = runtime().devices.get();
  const unsigned device = table == nullptr ? kNoDevice : table->ledgerIndex(dev);
  if (device != kNoDevice) {
    primaries().setHandle(device, *out);
    runtime().meter.noteContext(*out, device);
  }
  return result;
}

template <typename Call>
CUresult releasePrimary(CUdevice dev, Call call) {
  const DriverCallScope inside;
  return inside.nested() ? call() : endPrimary(dev, call);
}

template <typename Call>
CUresult createContext(Cu site, CUcontext* out, CUdevice dev, Call call) {
  const DriverCallScope inside;
  if (inside.nested()) return call();
  const ChargeTarget seat = seatOfDevice(dev, site);
  if (seat.verdict == ChargeVerdict::kUnknownLimit)
    return call();  // nothing is metered there either
  const std::uint64_t bytes =
      seat.verdict == ChargeVerdict::kAccount ? contextBytes(seat.device) : 0;
  const CUresult result =
      allocateOn(runtime().contexts, seat, bytes, BlockKind::kContext, site, out, call);
  noteContextChange();
  if (result != CUDA_SUCCESS) return result;
  if (bytes != 0) noteContext(static_cast<std::int64_t>(bytes));
  if (seat.verdict == ChargeVerdict::kAccount) runtime().meter.noteContext(*out, seat.device);
  runtime().gate.attach();
  return result;
}

template <typename Call>
CUresult destroyContext(Cu site, CUcontext ctx, Call call) {
  const DriverCallScope inside;
  if (inside.nested() || runtime().context_use.exiting()) return call();
  Block block;
  const bool known = runtime().contexts.find(blockKey(ctx), &block);
  const ContextDestroyScope ending;
  runtime().meter.forgetContext(ctx);
  const CUresult result = freeFrom(runtime().contexts, blockKey(ctx), site, call);
  if (!known || result != CUDA_SUCCESS) return result;
  noteContext(-static_cast<std::int64_t>(block.bytes));
  runtime().captures.contextEnded(ctx);
  sweepAfterContext(block.device, ctx);
  return result;
}

// Green contexts retain the primary one; at their end the device is not known.
template <typename Call>
CUresult endGreen(Call call) {
  const DriverCallScope inside;
  if (runtime().context_use.exiting()) return call();
  const ContextDestroyScope ending;
  if (!inside.nested()) runtime().meter.forgetContext(nullptr);
  const CUresult result = call();
  const DeviceTable* table =
      inside.nested() || !runtime().tenant.ready() ? nullptr : runtime().devices.get();
  if (table == nullptr) return result;
  for (CUdevice dev = 0; dev < DeviceTable::kMaxDriverDevices; ++dev) {
    const unsigned device = table->ledgerIndex(dev);
    if (device != kNoDevice && primaries().settle(device, dev)) {
      runtime().captures.contextEnded(primaries().handle(device));
      sweepAfterContext(device, primaries().handle(device));
    }
  }
  return result;
}

}  // namespace

DIVVY_HOOK(cuDevicePrimaryCtxRetain)(CUcontext* pctx, CUdevice dev) noexcept {
  return retainPrimary(pctx, dev, [=] { return real<Cu::cuDevicePrimaryCtxRetain>()(pctx, dev); });
}

DIVVY_HOOK(cuDevicePrimaryCtxRelease)(CUdevice dev) noexcept {
  return releasePrimary(dev, [=] { return real<Cu::cuDevicePrimaryCtxRelease>()(dev); });
}

DIVVY_HOOK(cuDevicePrimaryCtxRelease_v2)(CUdevice dev) noexcept {
  return releasePrimary(dev, [=] { return real<Cu::cuDevicePrimaryCtxRelease_v2>()(dev); });
}

DIVVY_HOOK(cuDevicePrimaryCtxReset)(CUdevice dev) noexcept {
  return releasePrimary(dev, [=] { return real<Cu::cuDevicePrimaryCtxReset>()(dev); });
}

DIVVY_HOOK(cuDevicePrimaryCtxReset_v2)(CUdevice dev) noexcept {
  return releasePrimary(dev, [=] { return real<Cu::cuDevicePrimaryCtxReset_v2>()(dev); });
}

DIVVY_HOOK(cuCtxCreate)(CUcontext* pctx, unsigned int flags, CUdevice dev) noexcept {
  return createContext(Cu::cuCtxCreate, pctx, dev,
                       [=] { return real<Cu::cuCtxCreate>()(pctx, flags, dev); });
}

DIVVY_HOOK(cuCtxCreate_v2)(CUcontext* pctx, unsigned int flags, CUdevice dev) noexcept {
  return createContext(Cu::cuCtxCreate_v2, pctx, dev,
                       [=] { return real<Cu::cuCtxCreate_v2>()(pctx, flags, dev); });
}

DIVVY_HOOK(cuCtxCreate_v3)
(CUcontext* pctx, CUexecAffinityParam* params, int count, unsigned int flags,
 CUdevice dev) noexcept {
  return createContext(Cu::cuCtxCreate_v3, pctx, dev,
                       [=] { return real<Cu::cuCtxCreate_v3>()(pctx, params, count, flags, dev); });
}

DIVVY_HOOK(cuCtxCreate_v4)
(CUcontext* pctx, CUctxCreateParams* params, unsigned int flags, CUdevice dev) noexcept {
  return createContext(Cu::cuCtxCreate_v4, pctx, dev,
                       [=] { return real<Cu::cuCtxCreate_v4>()(pctx, params, flags, dev); });
}

DIVVY_HOOK(cuCtxDestroy)(CUcontext ctx) noexcept {
  return destroyContext(Cu::cuCtxDestroy, ctx, [=] { return real<Cu::cuCtxDestroy>()(ctx); });
}

DIVVY_HOOK(cuCtxDestroy_v2)(CUcontext ctx) noexcept {
  return destroyContext(Cu::cuCtxDestroy_v2, ctx, [=] { return real<Cu::cuCtxDestroy_v2>()(ctx); });
}

// cuCtxAttach and cuCtxDetach count uses of a context that cuCtxCreate made with one.
DIVVY_HOOK(cuCtxAttach)(CUcontext* pctx, unsigned int flags) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuCtxAttach>()(pctx, flags);
  if (inside.nested() || result != CUDA_SUCCESS || pctx == nullptr) return result;
  const std::uint64_t key = blockKey(*pctx);
  Block uses;
  if (!runtime().context_uses.take(key, &uses)) uses = {0, 0, BlockKind::kOther};
  ++uses.bytes;
  remember(runtime().context_uses, key, uses, Cu::cuCtxAttach);
  return result;
}

DIVVY_HOOK(cuCtxDetach)(CUcontext ctx) noexcept {
  const auto call = [=] { return real<Cu::cuCtxDetach>()(ctx); };
  Block uses;
  if (divvy_thread.depth != 0 || !runtime().context_uses.take(blockKey(ctx), &uses)) {
    return destroyContext(Cu::cuCtxDetach, ctx, call);
  }
  const DriverCallScope inside;
  const CUresult result = call();
  if (result == CUDA_SUCCESS) --uses.bytes;
  if (uses.bytes > 0) remember(runtime().context_uses, blockKey(ctx), uses, Cu::cuCtxDetach);
  return result;
}

DIVVY_HOOK(cuGreenCtxCreate)
(CUgreenCtx* out, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) noexcept {
  const DriverCallScope inside;
  const auto call = [=] { return real<Cu::cuGreenCtxCreate>()(out, desc, dev, flags); };
  return inside.nested() ? call() : activatePrimary(Cu::cuGreenCtxCreate, dev, call);
}

DIVVY_HOOK(cuGreenCtxDestroy)(CUgreenCtx ctx) noexcept {
  return endGreen([=] { return real<Cu::cuGreenCtxDestroy>()(ctx); });
}
