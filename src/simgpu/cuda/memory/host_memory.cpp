#include "cuda/memory/host_memory.h"

#include <sys/mman.h>

#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"

namespace divvy::simgpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

void addHostRegion(Context& context, CUdeviceptr begin, std::size_t bytes, unsigned flags) {
  Region region;
  region.begin = begin;
  region.bytes = bytes;
  region.requested = bytes;
  region.kind = RegionKind::kHost;
  region.device = &context.device();
  region.owner = &context;
  region.flags = flags;
  MemoryTable::get().add(std::move(region));
}

bool overlapsHost(CUdeviceptr begin, std::size_t bytes) {
  auto& regions = MemoryTable::get().all();
  auto after = regions.lower_bound(begin);
  if (after != regions.end() && after->first - begin < bytes) return true;
  return MemoryTable::get().find(begin) != nullptr;
}

}  // namespace

CUresult allocateHost(Context& context, std::size_t bytes, unsigned flags, void** out) {
  if (out == nullptr || bytes == 0 || (flags & ~kAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t rounded = roundTo(bytes, kPage);
  if (rounded == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  void* at = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::unique_lock guard(MemoryTable::get().mutex);
  addHostRegion(context, reinterpret_cast<CUdeviceptr>(at), bytes, flags);
  *out = at;
  return CUDA_SUCCESS;
}

CUresult registerHost(Context& context, void* address, std::size_t bytes, unsigned flags) {
  if (address == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::unique_lock guard(MemoryTable::get().mutex);
  const auto begin = reinterpret_cast<CUdeviceptr>(address);
  if (Window::get().contains(begin)) return CUDA_ERROR_INVALID_VALUE;
  if (overlapsHost(begin, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  addHostRegion(context, begin, bytes, flags | kHostRegistered);
  return CUDA_SUCCESS;
}

void releaseHost(CUdeviceptr address) {
  MemoryTable& table = MemoryTable::get();
  const std::unique_lock guard(table.mutex);
  Region* region = table.findExact(address);
  if (region == nullptr || region->kind != RegionKind::kHost) return;
  if ((region->flags & kHostRegistered) == 0) {
    munmap(reinterpret_cast<void*>(address), roundTo(region->bytes, kPage));
  }
  table.remove(address);
}

namespace {

// Freeing NULL is no error; unregistering NULL is one.
CUresult freeHost(Context& context, void* address, bool registered) {
  if (address == nullptr) return registered ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  const auto begin = reinterpret_cast<CUdeviceptr>(address);
  {
    const std::shared_lock guard(MemoryTable::get().mutex);
    const Region* region = MemoryTable::get().findExact(begin);
    if (region == nullptr || region->kind != RegionKind::kHost) {
      return registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
    }
    if (((region->flags & kHostRegistered) != 0) != registered) {
      return registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (const CUresult idle = exec::synchronizeDevice(context.device()); idle != CUDA_SUCCESS) {
    return idle;
  }
  releaseHost(begin);
  return CUDA_SUCCESS;
}

CUresult devicePointer(CUdeviceptr* out, void* address, unsigned flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_lock guard(MemoryTable::get().mutex);
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  const Region* region = MemoryTable::get().find(at);
  if (region == nullptr || region->kind != RegionKind::kHost) return CUDA_ERROR_INVALID_VALUE;
  *out = at;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuMemAllocHost)(void** out, unsigned bytes) {
  return withContext(Cu::cuMemAllocHost, [&](Context& context) {
    return allocateHost(context, bytes, CU_MEMHOSTALLOC_PORTABLE, out);
  });
}
SIMGPU_IMPL(cuMemAllocHost_v2)(void** out, size_t bytes) {
  return withContext(Cu::cuMemAllocHost_v2, [&](Context& context) {
    return allocateHost(context, bytes, CU_MEMHOSTALLOC_PORTABLE, out);
  });
}
SIMGPU_IMPL(cuMemHostAlloc)(void** out, size_t bytes, unsigned flags) {
  return withContext(Cu::cuMemHostAlloc,
                     [&](Context& context) { return allocateHost(context, bytes, flags, out); });
}
SIMGPU_IMPL(cuMemFreeHost)(void* address) {
  return withContext(Cu::cuMemFreeHost,
                     [&](Context& context) { return freeHost(context, address, false); });
}
SIMGPU_IMPL(cuMemHostRegister)(void* address, size_t bytes, unsigned flags) {
  return withContext(Cu::cuMemHostRegister, [&](Context& context) {
    return registerHost(context, address, bytes, flags);
  });
}
SIMGPU_IMPL(cuMemHostRegister_v2)(void* address, size_t bytes, unsigned flags) {
  return withContext(Cu::cuMemHostRegister_v2, [&](Context& context) {
    return registerHost(context, address, bytes, flags);
  });
}
SIMGPU_IMPL(cuMemHostUnregister)(void* address) {
  return withContext(Cu::cuMemHostUnregister,
                     [&](Context& context) { return freeHost(context, address, true); });
}
SIMGPU_IMPL(cuMemHostGetDevicePointer)(CUdeviceptr_v1*, void*, unsigned) {
  // A 64-bit address does not fit the 32-bit result from before CUDA 3.2.
  return withContext(Cu::cuMemHostGetDevicePointer,
                     [](Context&) { return CUDA_ERROR_NOT_SUPPORTED; });
}
SIMGPU_IMPL(cuMemHostGetDevicePointer_v2)(CUdeviceptr* out, void* address, unsigned flags) {
  return withContext(Cu::cuMemHostGetDevicePointer_v2,
                     [&](Context&) { return devicePointer(out, address, flags); });
}
SIMGPU_IMPL(cuMemHostGetFlags)(unsigned* flags, void* address) {
  return withContext(Cu::cuMemHostGetFlags, [&](Context&) -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_lock guard(MemoryTable::get().mutex);
    const Region* region = MemoryTable::get().find(reinterpret_cast<CUdeviceptr>(address));
    if (region == nullptr || region->kind != RegionKind::kHost) return CUDA_ERROR_INVALID_VALUE;
    *flags = region->flags & ~kHostRegistered;
    return CUDA_SUCCESS;
  });
}

}  // namespace divvy::simgpu
