// Virtual memory management: cuMemCreate is what takes memory; mapping only keeps it alive.
#include "allocation.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

bool isOnDevice(const CUmemAllocationProp* prop) {
  return prop != nullptr && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

// The book is asked only where something may be in it.
VmmBook* book(const Inside& inside) {
  return inside.nested() || !runtime().tenant.ready() ? nullptr : &runtime().vmm;
}

// Of memory that we made of such handles the application knows none, as of plain memory: the driver
// would refuse what is asked for.
bool isPlain(const Inside& inside, CUdeviceptr address) {
  return !inside.nested() && runtime().chunks.has(address);
}

template <Cu kId>
CUresult mapArrays(CUarrayMapInfo* list, unsigned count, CUstream stream) {
  const Inside inside;
  VmmBook* const vmm = book(inside);
  const CUresult result = real<kId>()(list, count, stream);
  if (vmm == nullptr || result != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].memOperationType != CU_MEM_OPERATION_TYPE_MAP) continue;
    // Plain or mipmapped: one word in any case.
    vmm->holdForArray(list[i].memHandle.memHandle,
                      reinterpret_cast<std::uint64_t>(list[i].resource.array));
  }
  return result;
}

}  // namespace

DIVVY_HOOK(cuMemCreate)
(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* prop,
 unsigned long long flags) noexcept {
  const Inside inside;
  const auto call = [=] { return real<Cu::cuMemCreate>()(handle, size, prop, flags); };
  if (inside.nested() || !isOnDevice(prop)) return call();
  const Seat seat = seatOfDevice(prop->location.id, Cu::cuMemCreate);
  if (seat.verdict == Verdict::kPass) return call();
  if (seat.verdict != Verdict::kAccount) return refusal(seat);
  Charge charge(seat.device, size);
  if (!charge.granted()) return refuse();
  const CUresult result = call();
  if (result != CUDA_SUCCESS || handle == nullptr) return result;
  charge.keep();
  if (!runtime().vmm.enter(*handle, seat.device, size)) {
    noteFault(Fault::kBlockForgotten, static_cast<std::uint32_t>(Cu::cuMemCreate), size);
  }
  return result;
}

DIVVY_HOOK(cuMemRelease)(CUmemGenericAllocationHandle handle) noexcept {
  const Inside inside;
  VmmBook* const vmm = book(inside);
  const std::uint32_t block = vmm == nullptr ? VmmBook::kNone : vmm->beginRelease(handle);
  const CUresult result = real<Cu::cuMemRelease>()(handle);
  if (vmm != nullptr) vmm->endRelease(block, handle, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemRetainAllocationHandle)
(CUmemGenericAllocationHandle* handle, void* addr) noexcept {
  const Inside inside;
  if (isPlain(inside, reinterpret_cast<CUdeviceptr>(addr))) return CUDA_ERROR_INVALID_VALUE;
  VmmBook* const vmm = book(inside);
  const CUresult result = real<Cu::cuMemRetainAllocationHandle>()(handle, addr);
  if (vmm != nullptr && result == CUDA_SUCCESS && handle != nullptr) {
    vmm->retain(*handle, reinterpret_cast<std::uint64_t>(addr));
  }
  return result;
}

DIVVY_HOOK(cuMemMap)
(CUdeviceptr ptr, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle,
 unsigned long long flags) noexcept {
  const Inside inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  VmmBook* const vmm = book(inside);
  const std::uint32_t block = vmm == nullptr ? VmmBook::kNone : vmm->beginMap(handle);
  const CUresult result = real<Cu::cuMemMap>()(ptr, size, offset, handle, flags);
  if (vmm != nullptr) vmm->endMap(block, ptr, size, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemUnmap)(CUdeviceptr ptr, std::size_t size) noexcept {
  const Inside inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  VmmBook* const vmm = book(inside);
  const std::uint32_t chain = vmm == nullptr ? VmmBook::kNone : vmm->beginUnmap(ptr, size);
  const CUresult result = real<Cu::cuMemUnmap>()(ptr, size);
  if (vmm != nullptr) vmm->endUnmap(chain, result == CUDA_SUCCESS);
  return result;
}

DIVVY_HOOK(cuMemAddressFree)(CUdeviceptr ptr, std::size_t size) noexcept {
  const Inside inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  return real<Cu::cuMemAddressFree>()(ptr, size);
}

DIVVY_HOOK(cuMemSetAccess)
(CUdeviceptr ptr, std::size_t size, const CUmemAccessDesc* desc, std::size_t count) noexcept {
  const Inside inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  return real<Cu::cuMemSetAccess>()(ptr, size, desc, count);
}

DIVVY_HOOK(cuMemGetAccess)
(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) noexcept {
  const Inside inside;
  if (isPlain(inside, ptr)) return CUDA_ERROR_INVALID_VALUE;
  return real<Cu::cuMemGetAccess>()(flags, location, ptr);
}

// An import is paid for by whoever made the memory. Should the driver answer with a handle that
// this process holds already, it holds it once more.
DIVVY_HOOK(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* handle, void* os_handle, CUmemAllocationHandleType type) noexcept {
  const Inside inside;
  VmmBook* const vmm = book(inside);
  const CUresult result = real<Cu::cuMemImportFromShareableHandle>()(handle, os_handle, type);
  if (vmm != nullptr && result == CUDA_SUCCESS && handle != nullptr) vmm->retain(*handle, 0);
  return result;
}

DIVVY_HOOK(cuMemMapArrayAsync)
(CUarrayMapInfo* list, unsigned int count, CUstream stream) noexcept {
  return mapArrays<Cu::cuMemMapArrayAsync>(list, count, stream);
}
DIVVY_HOOK(cuMemMapArrayAsync_ptsz)
(CUarrayMapInfo* list, unsigned int count, CUstream stream) noexcept {
  return mapArrays<Cu::cuMemMapArrayAsync_ptsz>(list, count, stream);
}
