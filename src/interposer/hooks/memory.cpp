// Plain, pitched and managed memory, in both widths of the driver API.
#include <type_traits>

#include "accounting/allocation.h"
#include "cuda/capture_scope.h"
#include "runtime.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

// The driver chooses the pitch. The pitch that it has chosen on every card so far is admitted. If
// it differs, the charge is corrected before the application gets the block.
constexpr std::uint64_t kPitchAlignment = 512;

std::uint64_t pitchedGuess(std::uint64_t width, std::uint64_t height) {
  const std::uint64_t pitch = (width + kPitchAlignment - 1) & ~(kPitchAlignment - 1);
  std::uint64_t bytes;
  return __builtin_mul_overflow(pitch, height, &bytes) ? UINT64_MAX : bytes;
}

// Bytes of the range that starts at `address`, or `otherwise` if the driver does not know it.
std::uint64_t rangeBytes(CUdeviceptr address, std::uint64_t otherwise) {
  const RelaxedCapture relaxed;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const CUresult result = real<Cu::cuMemGetAddressRange_v2>()(&base, &bytes, address);
  return result == CUDA_SUCCESS && base == address ? bytes : otherwise;
}

// Plain and managed memory; `caller`: return address of the hook.
template <typename Pointer, typename Call>
CUresult allocatePlain(Cu site, BlockKind kind, Pointer* out, std::uint64_t bytes,
                       const void* caller, Call call) {
  const DriverCallScope inside;
  if (inside.nested()) return call();
  const ChargeTarget seat = chargeTargetOfContext(site);
  if constexpr (std::is_same_v<Pointer, CUdeviceptr>) {
    CUresult result;
    if (kind == BlockKind::kPlain && mayBeSwapped(seat, caller) &&
        runtime().swappable.allocate(seat.device, bytes, site, out, &result) ==
            HookOutcome::kDone) {
      return result;
    }
  }
  const std::uint64_t rounded =
      seat.verdict == ChargeVerdict::kAccount ? roundToGranule(seat.device, bytes) : bytes;
  const CUresult result = allocateOn(runtime().blocks, seat, rounded, kind, site, out, call);
  if (!std::is_same_v<Pointer, CUdeviceptr> && result == CUDA_SUCCESS) {
    notePinned(seat, PinReason::kNarrowAddress);
  }
  return result;
}

struct Pitched {
  std::uint64_t width, height;
  unsigned element;
  bool valid(const std::size_t* pitch) const {
    return pitch != nullptr && width != 0 && (element == 4 || element == 8 || element == 16);
  }
};

// Returns false if native memory is needed, or for an error.
bool swapPitched(ChargeTarget seat, CUdeviceptr* out, std::size_t* pitch, const Pitched& shape,
                 const void* caller, CUresult* result) {
  if (!shape.valid(pitch) || !mayBeSwapped(seat, caller)) return false;
  if (runtime().swappable.allocate(seat.device, pitchedGuess(shape.width, shape.height),
                                   Cu::cuMemAllocPitch_v2, out, result) != HookOutcome::kDone) {
    return false;
  }
  if (*result == CUDA_SUCCESS) *pitch = pitchedGuess(shape.width, 1);
  return true;
}
// Addresses of 32 bits cannot be chosen.
bool swapPitched(ChargeTarget, CUdeviceptr_v1*, unsigned*, const Pitched&, const void*, CUresult*) {
  return false;
}

template <typename Pointer, typename Pitch, typename Call, typename Undo>
CUresult allocatePitched(Cu site, Pointer* out, Pitch* pitch, const Pitched& shape,
                         const void* caller, Call call, Undo undo) {
  const DriverCallScope inside;
  if (inside.nested()) return call();
  const ChargeTarget seat = chargeTargetOfContext(site);
  if (seat.verdict == ChargeVerdict::kPass) return call();
  if (seat.verdict != ChargeVerdict::kAccount) return refusal(seat);
  CUresult result;
  if (swapPitched(seat, out, pitch, shape, caller, &result)) return result;
  Charge charge(seat.device, roundToGranule(seat.device, pitchedGuess(shape.width, shape.height)));
  if (!charge.granted()) return refuseOverLimit(charge.bytes());
  result = countIfDeviceFull(call(), charge.bytes());
  if (result != CUDA_SUCCESS || out == nullptr) return result;
  const std::uint64_t bytes =
      roundToGranule(seat.device, rangeBytes(blockKey(*out), charge.bytes()));
  if (!charge.resize(bytes)) {
    undo(*out);
    *out = 0;
    return refuseOverLimit(bytes);
  }
  charge.keep();
  remember(runtime().blocks, blockKey(*out),
           {bytes, static_cast<std::uint8_t>(seat.device), BlockKind::kPlain}, site);
  return result;
}

template <typename Call>
CUresult freePlain(Cu site, std::uint64_t address, Call call) {
  const DriverCallScope inside;
  return inside.nested() ? call() : freeFrom(runtime().blocks, address, site, call);
}

}  // namespace

DIVVY_HOOK(cuMemAlloc_v2)(CUdeviceptr* dptr, std::size_t bytesize) noexcept {
  return allocatePlain(Cu::cuMemAlloc_v2, BlockKind::kPlain, dptr, bytesize,
                       __builtin_return_address(0),
                       [=] { return real<Cu::cuMemAlloc_v2>()(dptr, bytesize); });
}

DIVVY_HOOK(cuMemAlloc)(CUdeviceptr_v1* dptr, unsigned int bytesize) noexcept {
  return allocatePlain(Cu::cuMemAlloc, BlockKind::kPlain, dptr, bytesize,
                       __builtin_return_address(0),
                       [=] { return real<Cu::cuMemAlloc>()(dptr, bytesize); });
}

DIVVY_HOOK(cuMemAllocManaged)
(CUdeviceptr* dptr, std::size_t bytesize, unsigned int flags) noexcept {
  return allocatePlain(Cu::cuMemAllocManaged, BlockKind::kManaged, dptr, bytesize,
                       __builtin_return_address(0),
                       [=] { return real<Cu::cuMemAllocManaged>()(dptr, bytesize, flags); });
}

DIVVY_HOOK(cuMemAllocPitch_v2)
(CUdeviceptr* dptr, std::size_t* pitch, std::size_t width, std::size_t height,
 unsigned int element) noexcept {
  return allocatePitched(
      Cu::cuMemAllocPitch_v2, dptr, pitch, {width, height, element}, __builtin_return_address(0),
      [=] { return real<Cu::cuMemAllocPitch_v2>()(dptr, pitch, width, height, element); },
      [](CUdeviceptr address) { real<Cu::cuMemFree_v2>()(address); });
}

DIVVY_HOOK(cuMemAllocPitch)
(CUdeviceptr_v1* dptr, unsigned int* pitch, unsigned int width, unsigned int height,
 unsigned int element) noexcept {
  return allocatePitched(
      Cu::cuMemAllocPitch, dptr, pitch, {width, height, element}, __builtin_return_address(0),
      [=] { return real<Cu::cuMemAllocPitch>()(dptr, pitch, width, height, element); },
      [](CUdeviceptr_v1 address) { real<Cu::cuMemFree>()(address); });
}

DIVVY_HOOK(cuMemFree_v2)(CUdeviceptr dptr) noexcept {
  if (__builtin_expect(runtime().chunks.any(), 0)) {
    const DriverCallScope inside;
    CUresult result;
    if (!inside.nested() && runtime().swappable.release(dptr, &result) == HookOutcome::kDone) {
      return result;
    }
  }
  return freePlain(Cu::cuMemFree_v2, dptr, [=] { return real<Cu::cuMemFree_v2>()(dptr); });
}

DIVVY_HOOK(cuMemFree)(CUdeviceptr_v1 dptr) noexcept {
  return freePlain(Cu::cuMemFree, dptr, [=] { return real<Cu::cuMemFree>()(dptr); });
}
