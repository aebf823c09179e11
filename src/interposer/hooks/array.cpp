// CUDA arrays and mipmapped arrays.
#include "accounting/allocation.h"
#include "accounting/array_size.h"
#include "cuda/capture_scope.h"
#include "runtime.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// An array dies with its context, and the driver cannot be asked for the context of a handle.
void rememberOwner(const void* array, unsigned device, Cu site) {
  CUcontext owner = nullptr;
  {
    const RelaxedCapture relaxed;
    if (real<Cu::cuCtxGetCurrent>()(&owner) != CUDA_SUCCESS) return;
  }
  remember(runtime().array_owners, blockKey(array),
           {blockKey(owner), static_cast<std::uint8_t>(device), BlockKind::kOther}, site);
}

template <typename Array, typename Call>
CUresult createArray(Cu site, Array* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels,
                     Call call) {
  const DriverCallScope inside;
  if (inside.nested() || shape == nullptr) return call();
  const ChargeTarget seat = chargeTargetOfContext(site);
  std::uint64_t bytes = 0;
  if (seat.verdict == ChargeVerdict::kAccount) {
    CUdevice device = 0;
    const RelaxedCapture relaxed;
    if (real<Cu::cuCtxGetDevice>()(&device) != CUDA_SUCCESS) return call();
    bytes = roundToGranule(seat.device, arrayBytes(*shape, levels, device));
  }
  const CUresult result =
      allocateOn(runtime().arrays, seat, bytes, BlockKind::kArray, site, out, call);
  if (result == CUDA_SUCCESS && seat.verdict == ChargeVerdict::kAccount && out != nullptr) {
    rememberOwner(*out, seat.device, site);
  }
  return result;
}

template <typename Array, typename Call>
CUresult destroyArray(Cu site, Array array, Call call) {
  const DriverCallScope inside;
  if (inside.nested()) return call();
  Block owner;
  const bool owned = runtime().array_owners.take(blockKey(array), &owner);
  const CUresult result = freeFrom(runtime().arrays, blockKey(array), site, call);
  if (owned && result != CUDA_SUCCESS) {
    remember(runtime().array_owners, blockKey(array), owner, site);
  }
  if (owned && result == CUDA_SUCCESS) runtime().vmm.endArray(blockKey(array));
  return result;
}

template <Cu kId, typename Shape>
CUresult createPlain(CUarray* out, const Shape* shape) {
  const auto call = [=] { return real<kId>()(out, shape); };
  if (shape == nullptr) return call();
  const CUDA_ARRAY3D_DESCRIPTOR wide = widen(*shape);
  return createArray(kId, out, &wide, 0, call);
}

}  // namespace

DIVVY_HOOK(cuArrayCreate)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1* shape) noexcept {
  return createPlain<Cu::cuArrayCreate>(out, shape);
}

DIVVY_HOOK(cuArrayCreate_v2)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) noexcept {
  return createPlain<Cu::cuArrayCreate_v2>(out, shape);
}

DIVVY_HOOK(cuArray3DCreate)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1* shape) noexcept {
  return createPlain<Cu::cuArray3DCreate>(out, shape);
}

DIVVY_HOOK(cuArray3DCreate_v2)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) noexcept {
  return createArray(Cu::cuArray3DCreate_v2, out, shape, 0,
                     [=] { return real<Cu::cuArray3DCreate_v2>()(out, shape); });
}

DIVVY_HOOK(cuMipmappedArrayCreate)
(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned int levels) noexcept {
  return createArray(Cu::cuMipmappedArrayCreate, out, shape, levels == 0 ? 1 : levels,
                     [=] { return real<Cu::cuMipmappedArrayCreate>()(out, shape, levels); });
}

DIVVY_HOOK(cuArrayDestroy)(CUarray array) noexcept {
  return destroyArray(Cu::cuArrayDestroy, array, [=] { return real<Cu::cuArrayDestroy>()(array); });
}

DIVVY_HOOK(cuMipmappedArrayDestroy)(CUmipmappedArray array) noexcept {
  return destroyArray(Cu::cuMipmappedArrayDestroy, array,
                      [=] { return real<Cu::cuMipmappedArrayDestroy>()(array); });
}
