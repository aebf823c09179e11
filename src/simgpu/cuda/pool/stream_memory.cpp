// Allocation and free in stream order.
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"
#include "cuda/context/variant.h"
#include "cuda/pool/pool.h"
#include "cuda/pool/pool_exec.h"
#include "cuda/pool/pool_share.h"

namespace divvy::simgpu {
namespace {

// The stream has reached the free of `address` that was queued with this token.
void finishFree(CUdeviceptr address, std::uint64_t token) {
  MemoryTable& table = MemoryTable::get();
  std::unique_lock guard(table.mutex);
  Region* region = table.findExact(address);
  if (region == nullptr || region->free_token != token) return;  // taken again in stream order
  if (region->kind == RegionKind::kImported) {
    MemPool* importer = region->pool;
    releasePoolImport(*region);
    buryPool(importer);
    return;
  }
  if (region->kind != RegionKind::kPool) {
    const RegionKind kind = region->kind;
    guard.unlock();
    if (kind == RegionKind::kGraph) {
      graphClose(address);
    } else {
      freeRegion(address);
    }
    return;
  }
  MemPool* pool = region->pool;
  std::uint64_t stream = 0;
  pool->pending.remove_if([&](const PendingFree& free) {
    if (free.address != address) return false;
    stream = free.stream;
    return true;
  });
  pool->release(*region, stream);
  buryPool(pool);
}

bool isPoolImport(const Region& region) {
  return region.kind == RegionKind::kImported && region.pool != nullptr;
}

std::uint64_t nextToken() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// The re-entrant variant does not grow a pool silently: it allocates plain memory that the pool may
// adopt, or 0. No lock is held, because the call goes through the libraries that wrap the driver.
CUdeviceptr growthByName(MemPool& pool, std::size_t bytes) {
  std::uint64_t growth = 0;
  {
    const std::unique_lock guard(MemoryTable::get().mutex);
    growth = pool.growthFor(bytes);
  }
  CUdeviceptr plain = 0;
  if (growth == 0 || ::cuMemAlloc_v2(&plain, growth) != CUDA_SUCCESS) return 0;
  return plain;
}

CUresult allocateInStream(Cu id, CUdeviceptr* out, std::size_t bytes, CUmemoryPool handle,
                          bool own_pool, StreamArgument stream) {
  return withContext(id, [&](Context& context) -> CUresult {
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    Context* owner = nullptr;
    std::uint64_t identity = 0;
    CUresult result = exec::resolveStream(context, stream, &owner, &identity);
    if (result != CUDA_SUCCESS) return result;
    MemPool* pool = nullptr;
    {
      const std::unique_lock guard(MemoryTable::get().mutex);
      pool = own_pool ? currentPool(owner->device()) : findPool(handle);
    }
    if (pool == nullptr || pool->imported) return CUDA_ERROR_INVALID_VALUE;
    return allocateFromPool(context, pool, bytes, stream, out);
  });
}

}  // namespace

CUresult allocateFromPool(Context& context, MemPool* pool, std::size_t bytes, StreamArgument stream,
                          CUdeviceptr* out) {
  bool capturing = false;
  CUresult result = exec::streamIsCapturing(context, stream, &capturing);
  if (result != CUDA_SUCCESS) return result;
  if (capturing) return exec::captureAlloc(context, stream, bytes, out);
  if (Faults::get().armed()) {
    if (result = Faults::get().strike(context); result != CUDA_SUCCESS) return result;
    if (Faults::get().refuseAllocation()) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUdeviceptr grown = kReentrant ? growthByName(*pool, bytes) : 0;
  Context* owner = nullptr;
  std::uint64_t identity = 0;
  result = exec::resolveStream(context, stream, &owner, &identity);
  const std::unique_lock guard(MemoryTable::get().mutex);
  // Adopted together with its allocation. Otherwise another thread could take it, and this one
  // would grow the pool a second time.
  if (grown != 0) pool->adopt(grown);
  if (result != CUDA_SUCCESS) return result;
  return pool->allocate(bytes, identity, out);
}

CUresult freeInStream(Context& context, CUdeviceptr address, StreamArgument stream) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  bool capturing = false;
  CUresult result = exec::streamIsCapturing(context, stream, &capturing);
  if (result != CUDA_SUCCESS) return result;
  if (capturing) return exec::captureFree(context, stream, address);
  Context* owner = nullptr;
  std::uint64_t identity = 0;
  result = exec::resolveStream(context, stream, &owner, &identity);
  if (result != CUDA_SUCCESS) return result;
  const std::uint64_t token = nextToken();
  {
    MemoryTable& table = MemoryTable::get();
    const std::unique_lock guard(table.mutex);
    Region* region = table.findExact(address);
    if (region == nullptr || region->closed || region->free_token != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const RegionKind kind = region->kind;
    if (kind != RegionKind::kPool && kind != RegionKind::kPlain && kind != RegionKind::kGraph &&
        kind != RegionKind::kManaged && !isPoolImport(*region)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    region->free_token = token;
    if (kind == RegionKind::kPool) {
      region->pool->pending.push_back({address, region->bytes, identity, token});
    }
  }
  return exec::enqueueAction(context, stream, [address, token] { finishFree(address, token); });
}

CUresult freePooled(CUdeviceptr address) {
  const std::uint64_t token = nextToken();
  {
    const std::unique_lock guard(MemoryTable::get().mutex);
    Region* region = MemoryTable::get().findExact(address);
    if (region == nullptr || region->closed || region->free_token != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    region->free_token = token;
  }
  finishFree(address, token);
  return CUDA_SUCCESS;
}

SIMGPU_IMPL(cuMemAllocAsync)(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocateInStream(Cu::cuMemAllocAsync, out, bytes, nullptr, true, {stream, false});
}
SIMGPU_IMPL(cuMemAllocAsync_ptsz)(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocateInStream(Cu::cuMemAllocAsync_ptsz, out, bytes, nullptr, true, {stream, true});
}
SIMGPU_IMPL(cuMemAllocFromPoolAsync)
(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocateInStream(Cu::cuMemAllocFromPoolAsync, out, bytes, pool, false, {stream, false});
}
SIMGPU_IMPL(cuMemAllocFromPoolAsync_ptsz)
(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocateInStream(Cu::cuMemAllocFromPoolAsync_ptsz, out, bytes, pool, false,
                          {stream, true});
}
SIMGPU_IMPL(cuMemFreeAsync)(CUdeviceptr address, CUstream stream) {
  return withContext(Cu::cuMemFreeAsync, [&](Context& context) {
    return freeInStream(context, address, {stream, false});
  });
}
SIMGPU_IMPL(cuMemFreeAsync_ptsz)(CUdeviceptr address, CUstream stream) {
  return withContext(Cu::cuMemFreeAsync_ptsz, [&](Context& context) {
    return freeInStream(context, address, {stream, true});
  });
}

}  // namespace divvy::simgpu
