// Memory of graphs' allocation nodes: addresses of their own, backing shared by launches.
#include <algorithm>
#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/graph/graph_memory.h"
#include "cuda/pool/pool.h"
#include "cuda/pool/pool_exec.h"

namespace divvy::simgpu {
namespace {

// Backing that a destroyed graph left for the next one; only amounts matter. The table's `mutex`
// guards it.
struct BackingStats {
  std::uint64_t cached = 0;
  std::uint64_t reserved = 0;
  std::uint64_t reserved_high = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
};

BackingStats& backingStats(const Device& device) {
  static auto* const all = new std::array<BackingStats, kMaxCards>;
  return (*all)[device.ordinal];
}

// Under the table's mutex.
CUresult back(Region& region) {
  if (region.charged != 0) return CUDA_SUCCESS;
  BackingStats& f = backingStats(*region.device);
  const std::uint64_t from_cache = std::min<std::uint64_t>(f.cached, region.bytes);
  const std::uint64_t fresh = region.bytes - from_cache;
  if (fresh != 0 && !region.device->card.charge(Charge::kGraph, fresh)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  f.cached -= from_cache;
  f.reserved += fresh;
  f.reserved_high = std::max(f.reserved_high, f.reserved);
  region.charged = region.bytes;
  return CUDA_SUCCESS;
}

template <typename Body>
auto onGraphRegion(CUdeviceptr address, Body&& body) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  Region* region = MemoryTable::get().findExact(address);
  return body(region != nullptr && region->kind == RegionKind::kGraph ? region : nullptr);
}

CUresult getAttribute(const Device& device, CUgraphMem_attribute attribute, cuuint64_t* value) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const BackingStats& f = backingStats(device);
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *value = f.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = f.used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = f.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = f.reserved_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult resetAttribute(const Device& device, CUgraphMem_attribute attribute, cuuint64_t value) {
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::unique_lock guard(MemoryTable::get().mutex);
  BackingStats& f = backingStats(device);
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    f.used_high = f.used;
  } else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    f.reserved_high = f.reserved;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult graphReserve(Device& device, std::size_t bytes, CUdeviceptr* address) {
  const std::size_t rounded = roundTo(bytes, kLargePage);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (rounded == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::unique_lock guard(MemoryTable::get().mutex);
  *address = reserveAddresses(rounded, false);
  if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Region region;
  region.begin = *address;
  region.bytes = rounded;
  region.requested = bytes;
  region.kind = RegionKind::kGraph;
  region.charge = Charge::kGraph;
  region.device = &device;
  region.closed = true;
  region.poison = Window::get().bits();
  region.poison_base = Window::get().offsetOf(*address);
  MemoryTable::get().add(std::move(region));
  return CUDA_SUCCESS;
}

CUresult graphBack(CUdeviceptr address) {
  return onGraphRegion(address, [](Region* region) -> CUresult {
    if (region == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (back(*region) == CUDA_SUCCESS) return CUDA_SUCCESS;
    trimAllPools(*region->device);
    return back(*region);
  });
}

void graphOpen(CUdeviceptr address) {
  onGraphRegion(address, [](Region* region) {
    if (region == nullptr || !region->closed) return;
    region->closed = false;
    region->free_token = 0;
    region->poison.repoison(region->poison_base, region->bytes, Window::get().alias(region->begin));
    BackingStats& f = backingStats(*region->device);
    f.used += region->bytes;
    f.used_high = std::max(f.used_high, f.used);
  });
}

void graphClose(CUdeviceptr address) {
  onGraphRegion(address, [](Region* region) {
    if (region == nullptr || region->closed) return;
    region->closed = true;
    region->free_token = 0;
    backingStats(*region->device).used -= region->bytes;
    Window::get().discard(Window::get().offsetOf(region->begin), region->bytes);
    MemoryTable::get().moveEpoch();
  });
}

void graphRelease(CUdeviceptr address) {
  graphClose(address);
  onGraphRegion(address, [](Region* region) {
    if (region == nullptr) return;
    backingStats(*region->device).cached += region->charged;
    const CUdeviceptr begin = region->begin;
    const std::size_t bytes = region->bytes;
    MemoryTable::get().remove(begin);
    releaseAddresses(begin, bytes);
  });
}

void trimGraphMemory(Device& device) {
  std::uint64_t freed = std::exchange(backingStats(device).cached, 0);
  for (auto& [begin, region] : MemoryTable::get().all()) {
    if (region.kind != RegionKind::kGraph || region.device != &device || !region.closed) continue;
    freed += std::exchange(region.charged, 0);
  }
  backingStats(device).reserved -= freed;
  if (freed != 0) device.card.refund(Charge::kGraph, freed);
}

SIMGPU_IMPL(cuDeviceGraphMemTrim)(CUdevice ordinal) {
  return withDriver(Cu::cuDeviceGraphMemTrim, [&]() -> CUresult {
    Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::unique_lock guard(MemoryTable::get().mutex);
    trimGraphMemory(*device);
    return CUDA_SUCCESS;
  });
}
SIMGPU_IMPL(cuDeviceGetGraphMemAttribute)
(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return withDriver(Cu::cuDeviceGetGraphMemAttribute, [&]() -> CUresult {
    const Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return getAttribute(*device, attribute, static_cast<cuuint64_t*>(value));
  });
}
SIMGPU_IMPL(cuDeviceSetGraphMemAttribute)
(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return withDriver(Cu::cuDeviceSetGraphMemAttribute, [&]() -> CUresult {
    const Device* device = findDevice(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return resetAttribute(*device, attribute, *static_cast<const cuuint64_t*>(value));
  });
}

}  // namespace divvy::simgpu
