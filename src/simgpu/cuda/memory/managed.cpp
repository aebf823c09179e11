#include "cuda/memory/managed.h"

#include <algorithm>
#include <mutex>

namespace divvy::simgpu {
namespace {

std::size_t pageOf(const Region& region, CUdeviceptr address) {
  return (address - region.begin) / kLargePage;
}

// Bytes of one page: the last one of an allocation may be short.
std::uint64_t pageBytes(const Region& region, std::size_t page) {
  return std::min<std::uint64_t>(kLargePage, region.bytes - page * kLargePage);
}

void moveToHost(Region& region, std::size_t page) {
  const int from = region.managed->at[page];
  if (from != kOnHost) findDevice(from)->card.refund(Charge::kManaged, pageBytes(region, page));
  region.managed->at[page] = kOnHost;
}

// Moves one page of another managed region to the host. False: there is none on this device.
bool evictOne(const Region& keep, const Device& device) {
  for (auto& [begin, region] : MemoryTable::get().all()) {
    if (region.managed == nullptr || &region == &keep) continue;
    for (std::size_t page = 0; page < region.managed->at.size(); ++page) {
      if (region.managed->at[page] != device.ordinal) continue;
      moveToHost(region, page);
      return true;
    }
  }
  return false;
}

void enterCard(Region& region, std::size_t page, Device& device) {
  const std::uint64_t bytes = pageBytes(region, page);
  while (!device.card.charge(Charge::kManaged, bytes)) {
    if (!evictOne(region, device)) return;
  }
  region.managed->at[page] = static_cast<std::int8_t>(device.ordinal);
}

}  // namespace

CUresult allocateManaged(Context& context, std::size_t bytes, unsigned flags, CUdeviceptr* out) {
  const std::size_t rounded = roundTo(bytes, kLargePage);
  if (rounded == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  CUdeviceptr address = 0;
  const CUresult result = allocateRegion(
      {&context.device(), &context, Charge::kManaged, RegionKind::kManaged, bytes, rounded},
      &address);
  if (result != CUDA_SUCCESS) return result;
  MemoryTable& table = MemoryTable::get();
  const std::unique_lock guard(table.mutex);
  Region* region = table.findExact(address);
  region->bytes = rounded;
  region->flags = flags;
  // The host may write first, and the pattern must not overwrite that.
  region->poison = PoisonBits();
  region->managed = std::make_shared<ManagedPages>();
  region->managed->at.assign(rounded / kLargePage, static_cast<std::int8_t>(kOnHost));
  if (!Window::get().openToHost(address, rounded)) {
    table.remove(address);
    releaseAddresses(address, rounded);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  context.device().card.countManaged(1);
  *out = address;
  return CUDA_SUCCESS;
}

bool managedResident(const Region& region, CUdeviceptr address, std::size_t bytes,
                     const Device& device) {
  const std::size_t last = pageOf(region, address + bytes - 1);
  for (std::size_t page = pageOf(region, address); page <= last; ++page) {
    if (region.managed->at[page] != device.ordinal) return false;
  }
  return true;
}

void moveManaged(Region& region, CUdeviceptr address, std::size_t bytes, Device* to) {
  if (bytes == 0) return;
  const std::size_t last = pageOf(region, address + bytes - 1);
  for (std::size_t page = pageOf(region, address); page <= last; ++page) {
    if (to != nullptr && region.managed->at[page] == to->ordinal) continue;
    moveToHost(region, page);
    if (to != nullptr) enterCard(region, page, *to);
  }
}

void dropManaged(Region& region) {
  region.device->card.countManaged(-1);
  for (std::size_t page = 0; page < region.managed->at.size(); ++page) moveToHost(region, page);
  Window::get().closeToHost(region.begin, region.bytes);
  // Host writes left contents that the poison bits do not record; marked as touched for discard().
  Window::get().bits().markTouched(Window::get().offsetOf(region.begin), region.bytes);
}

}  // namespace divvy::simgpu
