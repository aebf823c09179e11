// From device addresses to bytes.
#include <algorithm>
#include <mutex>

#include "cuda/memory/host_memory.h"
#include "cuda/memory/managed.h"
#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {
namespace {

// The range that lookupRange poisons at once, around the address.
constexpr std::uint64_t kLookupStretch = 1ULL << 20;

bool mayAccess(Context& context, const Region& region, Access access, bool copy) {
  if (region.closed) return false;
  switch (region.kind) {
    case RegionKind::kHost:
      return access == Access::kRead || (region.flags & kHostRegistered) == 0 ||
             (region.flags & CU_MEMHOSTREGISTER_READ_ONLY) == 0;
    case RegionKind::kManaged:
      return true;
    case RegionKind::kMapped:
    case RegionKind::kPool:
    case RegionKind::kImported: {
      const unsigned wanted =
          static_cast<unsigned>(access) & static_cast<unsigned>(Access::kReadWrite);
      if (copy && region.kind != RegionKind::kMapped) return true;
      return (region.access[context.device().ordinal] & wanted) == wanted;
    }
    case RegionKind::kArray:
      return copy;  // kernels reach arrays through textures and surfaces only
    default:
      return copy || context.canAccess(*region.device);
  }
}

void layPoison(const Region& region, CUdeviceptr address, std::size_t bytes, Access access) {
  if (!region.poison.present()) return;
  const std::uint64_t offset = region.poison_base + (address - region.begin);
  std::byte* host = Window::get().alias(address);
  if (access == Access::kOverwrite) {
    region.poison.touchForOverwrite(offset, bytes, host);
  } else {
    region.poison.touch(offset, bytes, host);
  }
}

// Walks the regions that cover the range. `step` gets each with its part of the range.
template <typename Step>
CUresult walk(CUdeviceptr address, std::size_t bytes, Step&& step) {
  MemoryTable& table = MemoryTable::get();
  const CUdeviceptr end = address + bytes;
  if (end < address) return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (CUdeviceptr at = address; at < end;) {
    Region* region = table.find(at);
    if (region == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    const CUdeviceptr stop = std::min<CUdeviceptr>(end, region->begin + region->bytes);
    if (const CUresult result = step(*region, at, stop - at); result != CUDA_SUCCESS) return result;
    at = stop;
  }
  return CUDA_SUCCESS;
}

CUresult checkWalk(Context& context, CUdeviceptr address, std::size_t bytes, Access access,
                   bool copy) {
  return walk(address, bytes, [&](Region& region, CUdeviceptr, std::size_t) -> CUresult {
    return mayAccess(context, region, access, copy) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  });
}

bool isOnHost(const Region& region) {
  return region.kind == RegionKind::kHost || region.device == nullptr;
}

std::byte* hostOf(const Region& region, CUdeviceptr address) {
  return region.kind == RegionKind::kHost ? reinterpret_cast<std::byte*>(address)
                                          : Window::get().alias(address);
}

}  // namespace

CUresult translate(Context& context, CUdeviceptr address, std::size_t bytes, Access access,
                   std::byte** host, bool copy) {
  MemoryTable& table = MemoryTable::get();
  bool move = false;
  {
    const std::shared_lock guard(table.mutex);
    *host = Window::get().contains(address) ? Window::get().alias(address)
                                            : reinterpret_cast<std::byte*>(address);
    // Must precede marking any of it as written.
    if (access == Access::kOverwrite) {
      const CUresult result = checkWalk(context, address, bytes, access, copy);
      if (result != CUDA_SUCCESS) return result;
    }
    const CUresult result =
        walk(address, bytes, [&](Region& region, CUdeviceptr at, std::size_t part) -> CUresult {
          if (!mayAccess(context, region, access, copy)) return CUDA_ERROR_ILLEGAL_ADDRESS;
          if (region.managed != nullptr) {
            move = move || !managedResident(region, at, part, context.device());
          }
          layPoison(region, at, part, access);
          return CUDA_SUCCESS;
        });
    if (result != CUDA_SUCCESS || !move) return result;
  }
  const std::unique_lock guard(table.mutex);
  return walk(address, bytes, [&](Region& region, CUdeviceptr at, std::size_t part) -> CUresult {
    if (region.managed != nullptr) moveManaged(region, at, part, &context.device());
    return CUDA_SUCCESS;
  });
}

CUresult checkAccess(Context& context, CUdeviceptr address, std::size_t bytes, Access access,
                     bool copy) {
  const std::shared_lock guard(MemoryTable::get().mutex);
  return checkWalk(context, address, bytes, access, copy);
}

std::uint64_t bytesOnHost(CUdeviceptr address, std::size_t bytes) {
  std::uint64_t found = 0;
  const std::shared_lock guard(MemoryTable::get().mutex);
  walk(address, bytes, [&](Region& region, CUdeviceptr, std::size_t part) -> CUresult {
    if (isOnHost(region)) found += part;
    return CUDA_SUCCESS;
  });
  return found;
}

CUresult lookupRange(Context& context, CUdeviceptr address, RangeView* out) {
  std::byte* host = nullptr;
  const CUresult result = translate(context, address, 1, Access::kRead, &host);
  if (result != CUDA_SUCCESS) return result;
  const std::shared_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  if (region == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const std::uint64_t stretch = region->managed != nullptr ? kLargePage : kLookupStretch;
  const CUdeviceptr low = region->begin + (address - region->begin) / stretch * stretch;
  out->begin = low;
  out->end = std::min<CUdeviceptr>(low + stretch, region->begin + region->bytes);
  out->host = hostOf(*region, low);
  out->writable = mayAccess(context, *region, Access::kWrite, false);
  layPoison(*region, low, out->end - low, Access::kRead);
  return CUDA_SUCCESS;
}

std::uint64_t memoryEpoch() {
  return MemoryTable::get().epoch();
}

PointerView describePointer(CUdeviceptr address) {
  PointerView view;
  const std::shared_lock guard(MemoryTable::get().mutex);
  const Region* region = MemoryTable::get().find(address);
  if (region == nullptr || region->kind == RegionKind::kArray) return view;
  view.kind = isOnHost(*region)                      ? PointerKind::kPinnedHost
              : region->kind == RegionKind::kManaged ? PointerKind::kManaged
                                                     : PointerKind::kDevice;
  view.device = region->device;
  view.base = region->begin;
  view.bytes = region->requested;
  view.charge = region->charge;
  view.context = region->owner == nullptr ? nullptr : region->owner->handle();
  view.buffer_id = region->buffer_id;
  return view;
}

CUresult allocateOwned(Context& context, Charge kind, std::size_t bytes, CUdeviceptr* out) {
  const std::size_t rounded = roundTo(bytes, kAllocationUnit);
  if (rounded == 0) return CUDA_ERROR_INVALID_VALUE;
  return allocateRegion({&context.device(), &context, kind, RegionKind::kPlain, bytes, rounded},
                        out);
}

CUresult freeOwned(CUdeviceptr address) {
  freeRegion(address);
  return CUDA_SUCCESS;
}

CUresult chargeOpaque(Context& context, Charge kind, std::size_t bytes) {
  return context.device().card.charge(kind, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void refundOpaque(Context& context, Charge kind, std::size_t bytes) {
  context.device().card.refund(kind, bytes);
}

}  // namespace divvy::simgpu
