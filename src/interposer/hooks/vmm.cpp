// Virtual memory management: cuMemCreate takes memory; mapping only keeps it alive.
#include "accounting/allocation.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

bool isOnDevice(const CUmemAllocationProp* prop) {
  return prop != nullptr && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

// Null if there can be no handles.
VmmHandles* book(const DriverCallScope& inside) {
  return inside.nested() || !runtime().tenant.ready() ? nullptr : &runtime().vmm;
}

// The application knows no handles of such memory, be it its own or another process's, as for plain
// memory. The driver would refuse the request.
bool isPlain(const DriverCallScope& inside, CUdeviceptr address) {
  if (inside.nested()) return false;
  if (runtime().ipc_imports.find(address) != nullptr) return true;
  return runtime().chunks.has(address) && runtime().tokens.viewAt(address) == AppMappings::kNone;
}

// Returns true if swappable memory of the application is in the range.
bool isSwapped(const DriverCallScope& inside, CUdeviceptr address, std::size_t bytes) {
  return !inside.nested() && runtime().tokens.touches(address, bytes);
}

// Returns true for our handles.
bool isToken(const DriverCallScope& inside, CUmemGenericAllocationHandle handle) {
  return !inside.nested() && VmmHandles::isToken(handle) && runtime().tokens.any();
}

// kNative: *told is set if the reason was recorded already; otherwise *why is the reason to record
// if the driver makes the memory. A query of the driver's properties must not count as use.
HookOutcome createSwappable(ChargeTarget seat, CUmemGenericAllocationHandle* handle,
                            std::size_t size, const CUmemAllocationProp& prop, const void* caller,
                            PinReason* why, bool* told, CUresult* result) {
  *told = handle == nullptr || !mayBeSwapped(seat, caller);
  if (*told) return HookOutcome::kNative;
  return runtime().tokens.create(seat.device, size, prop, handle, why, result);
}

template <Cu kId>
CUresult mapArrays(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  const DriverCallScope inside;
  VmmHandles* const vmm = book(inside);
  const CUresult result = real<kId>()(list, count, stream);
  if (vmm == nullptr || result != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].memOperationType != CU_MEM_OPERATION_TYPE_MAP) continue;
    // Plain or mipmapped: one word in both cases.
    vmm->holdForArray(list[i].memHandle.memHandle,
                      reinterpret_cast<std::uint64_t>(list[i].resource.array));
  }
  return result;
}

}  // namespace

DIVVY_HOOK(cuMemCreate)
(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* prop,
 unsigned long long flags) noexcept {
  const DriverCallScope inside;
  const auto call = [=] { return real<Cu::cuMemCreate>()(handle, size, prop, flags); };
  if (inside.nested() || !isOnDevice(prop)) return call();
  const ChargeTarget seat = seatOfDevice(prop->location.id, Cu::cuMemCreate);
  if (seat.verdict == ChargeVerdict::kPass) return call();
  if (seat.verdict != ChargeVerdict::kAccount) return refusal(seat);
  CUresult swapped;
  PinReason why = PinReason::kDriver;
  bool told = false;
  if (flags == 0 && createSwappable(seat, handle, size, *prop, __builtin_return_address(0), &why,
                                    &told, &swapped) == HookOutcome::kDone) {
    return swapped;
  }
  Charge charge(seat.device, size);
  if (!charge.granted()) return refuseOverLimit(size);
  const CUresult result = countIfDeviceFull(call(), size);
  if (result != CUDA_SUCCESS || handle == nullptr) return result;
  charge.keep();
  if (!told) notePinned(seat, why);
  if (!runtime().vmm.enter(*handle, seat.device, size)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemCreate), size);
  }
  return result;
}

DIVVY_HOOK(cuMemRelease)(CUmemGenericAllocationHandle handle) noexcept {
  const DriverCallScope inside;
  VmmHandles* const vmm = book(inside);
  const std::uint32_t block = vmm == nullptr ? VmmHandles::kNone : vmm->beginRelease(handle);
  if (isToken(inside, handle)) {
    if (block == VmmHandles::kNone) return CUDA_ERROR_INVALID_VALUE;
    vmm->drop(block);
    return CUDA_SUCCESS;
  }
  const CUresult result = real<Cu::cuMemRelease>()(handle);
  if (vmm != nullptr) vmm->endRelease(block, handle, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemRetainAllocationHandle)
(CUmemGenericAllocationHandle* handle, void* addr) noexcept {
  const DriverCallScope inside;
  const auto address = reinterpret_cast<CUdeviceptr>(addr);
  if (isPlain(inside, address)) return CUDA_ERROR_INVALID_VALUE;
  if (isSwapped(inside, address, 1)) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = VmmProxyHandles::retain(runtime().tokens.viewAt(address));
    return *handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  VmmHandles* const vmm = book(inside);
  const CUresult result = real<Cu::cuMemRetainAllocationHandle>()(handle, addr);
  if (vmm != nullptr && result == CUDA_SUCCESS && handle != nullptr) {
    vmm->retain(*handle, reinterpret_cast<std::uint64_t>(addr));
  }
  return result;
}

DIVVY_HOOK(cuMemMap)
(CUdeviceptr ptr, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle,
 unsigned long long flags) noexcept {
  const DriverCallScope inside;
  if (isPlain(inside, ptr) || isSwapped(inside, ptr, size)) return CUDA_ERROR_INVALID_VALUE;
  if (isToken(inside, handle)) {
    if (offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return runtime().tokens.map(ptr, size, handle);
  }
  VmmHandles* const vmm = book(inside);
  const std::uint32_t block = vmm == nullptr ? VmmHandles::kNone : vmm->beginMap(handle);
  const CUresult result = real<Cu::cuMemMap>()(ptr, size, offset, handle, flags);
  if (vmm != nullptr) vmm->endMap(block, ptr, size, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemUnmap)(CUdeviceptr ptr, std::size_t size) noexcept {
  const DriverCallScope inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (isSwapped(inside, ptr, size)) return runtime().tokens.unmap(ptr, size);
  VmmHandles* const vmm = book(inside);
  const std::uint32_t chain = vmm == nullptr ? VmmHandles::kNone : vmm->beginUnmap(ptr, size);
  const CUresult result = real<Cu::cuMemUnmap>()(ptr, size);
  if (vmm != nullptr) vmm->endUnmap(chain, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemAddressReserve)
(CUdeviceptr* ptr, std::size_t size, std::size_t alignment, CUdeviceptr addr,
 unsigned long long flags) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuMemAddressReserve>()(ptr, size, alignment, addr, flags);
  if (book(inside) != nullptr && result == CUDA_SUCCESS) runtime().tokens.reserved(*ptr, size);
  return result;
}

// Removed before the driver may reuse the addresses.
DIVVY_HOOK(cuMemAddressFree)(CUdeviceptr ptr, std::size_t size) noexcept {
  const DriverCallScope inside;
  if (isPlain(inside, ptr) || isSwapped(inside, ptr, size)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t known = book(inside) == nullptr ? 0 : runtime().tokens.unreserved(ptr);
  const CUresult result = real<Cu::cuMemAddressFree>()(ptr, size);
  if (known != 0 && result != CUDA_SUCCESS) runtime().tokens.reserved(ptr, known);
  return result;
}

DIVVY_HOOK(cuMemSetAccess)
(CUdeviceptr ptr, std::size_t size, const CUmemAccessDesc* desc, std::size_t count) noexcept {
  const DriverCallScope inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (isSwapped(inside, ptr, size)) return runtime().tokens.setAccess(ptr, size, desc, count);
  return real<Cu::cuMemSetAccess>()(ptr, size, desc, count);
}

DIVVY_HOOK(cuMemGetAccess)
(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) noexcept {
  const DriverCallScope inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (isSwapped(inside, ptr, 1)) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return VmmProxyHandles::getAccess(runtime().tokens.viewAt(ptr), *location, flags);
  }
  return real<Cu::cuMemGetAccess>()(flags, location, ptr);
}

DIVVY_HOOK(cuMemMapArrayAsync)
(CUarrayMapInfo* list, unsigned int count, CUstream stream) noexcept {
  return mapArrays<Cu::cuMemMapArrayAsync>(list, count, stream);
}
DIVVY_HOOK(cuMemMapArrayAsync_ptsz)
(CUarrayMapInfo* list, unsigned int count, CUstream stream) noexcept {
  return mapArrays<Cu::cuMemMapArrayAsync_ptsz>(list, count, stream);
}
