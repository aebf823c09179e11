// cuMemAlloc, cuMemAllocPitch, cuMemAllocManaged, cuMemFree, cuMemGetInfo, cuMemGetAddressRange.
#include <algorithm>
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"
#include "cuda/context/variant.h"
#include "cuda/memory/external.h"
#include "cuda/memory/host_memory.h"
#include "cuda/memory/managed.h"
#include "cuda/memory/memory_table.h"
#include "cuda/pool/pool.h"

namespace divvy::simgpu {
namespace {

constexpr std::size_t kPitchUnit = 512;

CUresult allocatePlain(Context& context, std::size_t requested, bool narrow, CUdeviceptr* out) {
  if (out == nullptr || requested == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult fine = exec::checkUnsafeCall(context); fine != CUDA_SUCCESS) return fine;
  if (Faults::get().armed()) {
    if (const CUresult hit = Faults::get().strike(context); hit != CUDA_SUCCESS) return hit;
  }
  const std::size_t bytes = roundTo(requested, kAllocationUnit);
  if (bytes == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return allocateRegion(
      {&context.device(), &context, Charge::kPlain, RegionKind::kPlain, requested, bytes, narrow},
      out);
}

// The pitch of a row, and the size of all rows; false on overflow.
bool pitchOf(std::size_t width, std::size_t height, std::size_t* pitch, std::size_t* bytes) {
  *pitch = roundTo(width, kPitchUnit);
  return *pitch != 0 && !__builtin_mul_overflow(*pitch, height, bytes);
}

CUresult allocatePitch(Context& context, CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                       std::size_t height, unsigned element, bool narrow) {
  if (out == nullptr || pitch == nullptr || width == 0 || height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  std::size_t bytes = 0;
  if (!pitchOf(width, height, pitch, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (kReentrant && !narrow) return ::cuMemAlloc_v2(out, bytes);
  return allocatePlain(context, bytes, narrow, out);
}

CUresult freePlain(Context& context, CUdeviceptr address) {
  if (const CUresult fine = exec::checkUnsafeCall(context); fine != CUDA_SUCCESS) return fine;
  if (address == 0) return CUDA_SUCCESS;
  Device* device = nullptr;
  RegionKind kind{};
  bool imported = false;  // a pointer of another process's pool
  bool external = false;
  {
    const std::shared_lock guard(MemoryTable::get().mutex);
    const Region* region = MemoryTable::get().findExact(address);
    if (region == nullptr || region->closed) return CUDA_ERROR_INVALID_VALUE;
    device = region->device == nullptr ? &context.device() : region->device;
    kind = region->kind;
    imported = kind == RegionKind::kImported && region->pool != nullptr;
    external = isExternalBuffer(*region);
  }
  const bool pooled = kind == RegionKind::kPool || kind == RegionKind::kGraph || imported;
  if (kind != RegionKind::kPlain && kind != RegionKind::kManaged && !pooled && !external) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult idle = exec::synchronizeDevice(*device); idle != CUDA_SUCCESS) return idle;
  if (pooled) return freePooled(address);
  if (external) {
    closeImport(address);
  } else {
    freeRegion(address);
  }
  return CUDA_SUCCESS;
}

CUresult memoryInfo(Context& context, std::size_t* free_bytes, std::size_t* total) {
  Card& card = context.device().card;
  if (free_bytes != nullptr) *free_bytes = card.capacity() - std::min(card.used(), card.capacity());
  if (total != nullptr) *total = card.capacity();
  return CUDA_SUCCESS;
}

CUresult addressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  const std::shared_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  if (region == nullptr || region->closed || region->kind == RegionKind::kArray) {
    return CUDA_ERROR_NOT_FOUND;
  }
  if (address - region->begin >= region->requested) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = region->begin;
  if (bytes != nullptr) *bytes = region->requested;
  return CUDA_SUCCESS;
}

template <typename Narrow>
Narrow saturated(std::uint64_t value) {
  return static_cast<Narrow>(std::min<std::uint64_t>(value, static_cast<Narrow>(-1)));
}

}  // namespace

SIMGPU_IMPL(cuMemAlloc_v2)(CUdeviceptr* out, size_t bytes) {
  return withContext(Cu::cuMemAlloc_v2,
                     [&](Context& context) { return allocatePlain(context, bytes, false, out); });
}
SIMGPU_IMPL(cuMemAlloc)(CUdeviceptr_v1* out, unsigned bytes) {
  return withContext(Cu::cuMemAlloc, [&](Context& context) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr address = 0;
    const CUresult result = allocatePlain(context, bytes, true, &address);
    if (result == CUDA_SUCCESS) *out = static_cast<CUdeviceptr_v1>(address);
    return result;
  });
}
SIMGPU_IMPL(cuMemAllocPitch_v2)
(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  return withContext(Cu::cuMemAllocPitch_v2, [&](Context& context) {
    return allocatePitch(context, out, pitch, width, height, element, false);
  });
}
SIMGPU_IMPL(cuMemAllocPitch)
(CUdeviceptr_v1* out, unsigned* pitch, unsigned width, unsigned height, unsigned element) {
  return withContext(Cu::cuMemAllocPitch, [&](Context& context) -> CUresult {
    if (out == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr address = 0;
    std::size_t wide_pitch = 0;
    const CUresult result =
        allocatePitch(context, &address, &wide_pitch, width, height, element, true);
    if (result != CUDA_SUCCESS) return result;
    *out = static_cast<CUdeviceptr_v1>(address);
    *pitch = saturated<unsigned>(wide_pitch);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuMemAllocManaged)(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return withContext(Cu::cuMemAllocManaged, [&](Context& context) -> CUresult {
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult fine = exec::checkUnsafeCall(context); fine != CUDA_SUCCESS) return fine;
    return allocateManaged(context, bytes, flags, out);
  });
}

SIMGPU_IMPL(cuMemFree_v2)(CUdeviceptr address) {
  return withContext(Cu::cuMemFree_v2,
                     [&](Context& context) { return freePlain(context, address); });
}
SIMGPU_IMPL(cuMemFree)(CUdeviceptr_v1 address) {
  return withContext(Cu::cuMemFree, [&](Context& context) { return freePlain(context, address); });
}

SIMGPU_IMPL(cuMemGetInfo_v2)(size_t* free_bytes, size_t* total) {
  return withContext(Cu::cuMemGetInfo_v2,
                     [&](Context& context) { return memoryInfo(context, free_bytes, total); });
}
SIMGPU_IMPL(cuMemGetInfo)(unsigned* free_bytes, unsigned* total) {
  return withContext(Cu::cuMemGetInfo, [&](Context&) -> CUresult {
    std::size_t wide_free = 0;
    std::size_t wide_total = 0;
    const CUresult result = ::cuMemGetInfo_v2(&wide_free, &wide_total);
    if (result != CUDA_SUCCESS) return result;
    if (free_bytes != nullptr) *free_bytes = saturated<unsigned>(wide_free);
    if (total != nullptr) *total = saturated<unsigned>(wide_total);
    return CUDA_SUCCESS;
  });
}

SIMGPU_IMPL(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return withContext(Cu::cuMemGetAddressRange_v2,
                     [&](Context&) { return addressRange(base, bytes, address); });
}
SIMGPU_IMPL(cuMemGetAddressRange)(CUdeviceptr_v1* base, unsigned* bytes, CUdeviceptr_v1 address) {
  return withContext(Cu::cuMemGetAddressRange, [&](Context&) -> CUresult {
    CUdeviceptr wide_base = 0;
    std::size_t wide_bytes = 0;
    const CUresult result = addressRange(&wide_base, &wide_bytes, address);
    if (result != CUDA_SUCCESS) return result;
    if (base != nullptr) *base = static_cast<CUdeviceptr_v1>(wide_base);
    if (bytes != nullptr) *bytes = saturated<unsigned>(wide_bytes);
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
