#include "cuda/memory/memory_table.h"

#include <mutex>
#include <vector>

#include "cuda/array/array.h"
#include "cuda/context/faults.h"
#include "cuda/memory/host_memory.h"
#include "cuda/memory/managed.h"

namespace divvy::simgpu {

MemoryTable& MemoryTable::get() {
  static MemoryTable* const table = new MemoryTable;
  return *table;
}

Region* MemoryTable::find(CUdeviceptr address) {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  return address - region.begin < region.bytes ? &region : nullptr;
}

Region* MemoryTable::findExact(CUdeviceptr address) {
  const auto found = regions_.find(address);
  return found == regions_.end() ? nullptr : &found->second;
}

Region& MemoryTable::add(Region region) {
  if (region.buffer_id == 0) region.buffer_id = next_buffer_id_++;
  const CUdeviceptr begin = region.begin;
  return regions_.emplace(begin, std::move(region)).first->second;
}

void MemoryTable::remove(CUdeviceptr begin) {
  regions_.erase(begin);
  moveEpoch();
}

CUdeviceptr reserveAddresses(std::uint64_t bytes, bool narrow) {
  Window& window = Window::get();
  CUdeviceptr address = 0;
  if (narrow) {
    address = window.reserveNarrow(bytes);
  } else {
    const auto offset = bytes < kSmallLimit
                            ? window.small.allocate(bytes, kAllocationUnit)
                            : window.large.allocate(roundTo(bytes, kLargePage), kLargePage);
    if (offset) address = window.base() + *offset;
  }
  if (address != 0) {
    window.bits().repoison(window.offsetOf(address), bytes, window.alias(address));
  }
  return address;
}

void releaseAddresses(CUdeviceptr address, std::uint64_t bytes) {
  Window& window = Window::get();
  const std::uint64_t offset = window.offsetOf(address);
  if (window.isNarrow(address)) {
    window.releaseNarrow(address, bytes);
  } else if (bytes < kSmallLimit) {
    window.small.release(offset, bytes);
  } else {
    window.discard(offset, roundTo(bytes, kLargePage));
    window.large.release(offset, roundTo(bytes, kLargePage));
  }
}

CUresult allocateRegion(const AllocationRequest& request, CUdeviceptr* out) {
  if (Faults::get().armed() && Faults::get().refuseAllocation()) return CUDA_ERROR_OUT_OF_MEMORY;
  Card& card = request.device->card;
  const bool charged = request.charged && request.kind != RegionKind::kManaged;
  if (charged && !card.charge(request.charge, request.bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  MemoryTable& table = MemoryTable::get();
  const std::unique_lock guard(table.mutex);
  const CUdeviceptr address = reserveAddresses(request.bytes, request.narrow);
  if (address == 0) {
    if (charged) card.refund(request.charge, request.bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Region region;
  region.begin = address;
  region.bytes = request.bytes;
  region.requested = request.requested;
  region.charged = charged ? request.bytes : 0;
  region.kind = request.kind;
  region.charge = request.charge;
  region.device = request.device;
  region.owner = request.owner;
  region.poison = Window::get().bits();
  region.poison_base = Window::get().offsetOf(address);
  table.add(std::move(region));
  *out = address;
  return CUDA_SUCCESS;
}

void freeRegion(CUdeviceptr address) {
  MemoryTable& table = MemoryTable::get();
  std::unique_lock guard(table.mutex);
  Region* region = table.findExact(address);
  if (region == nullptr) return;
  Device& device = *region->device;
  const std::size_t bytes = region->bytes;
  const std::size_t charged = region->charged;
  const std::uint64_t block = region->block;
  const Charge charge = region->charge;
  if (region->managed != nullptr) dropManaged(*region);
  table.remove(address);
  releaseAddresses(address, bytes);
  guard.unlock();
  if (block != 0) {
    device.card.dropBlock(block);
  } else if (charged != 0) {
    device.card.refund(charge, charged);
  }
}

void freeOwnedBy(Context& context) {
  dropArraysOf(context);
  MemoryTable& table = MemoryTable::get();
  std::vector<CUdeviceptr> device_memory;
  std::vector<CUdeviceptr> host_memory;
  std::vector<CUdeviceptr> imports;
  {
    const std::shared_lock guard(table.mutex);
    for (const auto& [begin, region] : table.all()) {
      if (region.owner != &context) continue;
      if (region.kind == RegionKind::kHost) {
        host_memory.push_back(begin);
      } else if (region.kind == RegionKind::kImported) {
        imports.push_back(begin);
      } else {
        device_memory.push_back(begin);
      }
    }
  }
  for (const CUdeviceptr address : device_memory) freeRegion(address);
  for (const CUdeviceptr address : host_memory) releaseHost(address);
  for (const CUdeviceptr address : imports) closeImport(address);
}

}  // namespace divvy::simgpu
