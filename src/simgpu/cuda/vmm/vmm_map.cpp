// cuMemAddressReserve, cuMemMap and the calls that undo them.
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "cuda/context/exec.h"
#include "cuda/vmm/vmm.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

// Returns the devices with work that may use the mappings.
std::set<Device*> usersOf(const std::vector<Region*>& regions) {
  std::set<Device*> devices;
  for (const Region* region : regions) {
    if (region->device != nullptr) devices.insert(region->device);
    for (int i = 0; i < deviceCount(); ++i) {
      if (region->access[i] != 0) devices.insert(findDevice(i));
    }
  }
  return devices;
}

bool anythingMapped(CUdeviceptr address, std::uint64_t bytes) {
  const auto& regions = MemoryTable::get().all();
  const auto after = regions.lower_bound(address);
  if (after != regions.end() && after->first - address < bytes) return true;
  return MemoryTable::get().find(address) != nullptr;
}

// Takes the hint if all of it is free, else another range.
std::uint64_t takeReserved(std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr hint) {
  Window& window = Window::get();
  const std::uint64_t at = hint - window.base();
  const bool usable =
      hint != 0 && at < window.bytes() && hint % alignment == 0 && bytes <= window.bytes() - at;
  if (usable && window.reserved.allocateAt(at, bytes)) return hint;
  // Offsets have the alignment of addresses up to a large page; a larger alignment needs slack.
  const std::uint64_t slack = alignment > kLargePage ? alignment : 0;
  const auto hole = window.reserved.allocate(bytes + slack, std::min(alignment, kLargePage));
  if (!hole) return 0;
  const CUdeviceptr begin = window.base() + *hole;
  const CUdeviceptr fit = (begin + alignment - 1) & ~(alignment - 1);
  if (fit > begin) window.reserved.release(*hole, fit - begin);
  if (slack > fit - begin) {
    window.reserved.release(fit - window.base() + bytes, slack - (fit - begin));
  }
  return fit;
}

}  // namespace

CUresult reserveAddresses(std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr hint,
                          CUdeviceptr* out) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (out == nullptr || bytes == 0 || bytes % page != 0 || hint % page != 0 ||
      (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t granule = vmmGranule(nullptr);
  const std::uint64_t taken = roundTo(bytes, granule);
  if (taken == 0 || taken > Window::get().bytes() || alignment > Window::get().bytes()) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::unique_lock guard(MemoryTable::get().mutex);
  const CUdeviceptr address = takeReserved(taken, std::max(alignment, granule), hint);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  PhysicalTable::get().reservations()[address] = {bytes, taken};
  *out = address;
  return CUDA_SUCCESS;
}

CUresult freeAddresses(CUdeviceptr address, std::uint64_t bytes) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  auto& reservations = PhysicalTable::get().reservations();
  const auto found = reservations.find(address);
  if (found == reservations.end() || found->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  if (anythingMapped(address, found->second.taken)) return CUDA_ERROR_INVALID_VALUE;
  Window::get().reserved.release(address - Window::get().base(), found->second.taken);
  reservations.erase(found);
  return CUDA_SUCCESS;
}

bool mapPhysical(const std::shared_ptr<Physical>& physical, CUdeviceptr address,
                 std::uint64_t bytes) {
  Window& window = Window::get();
  const ForeignWindow* foreign = physical->foreign.get();
  const std::uint64_t data =
      foreign != nullptr ? foreign->header().data_offset : window.header().data_offset;
  const int fd = foreign != nullptr ? foreign->fd : window.fd();
  if (!window.mapBytes(address, bytes, fd, data + physical->offset)) return false;
  Region region;
  region.begin = address;
  region.bytes = bytes;
  region.requested = bytes;
  region.kind = RegionKind::kMapped;
  region.charge = Charge::kVmm;
  region.device = physical->device;
  // Fresh host memory is zero, and the host may write it without any call.
  if (physical->device != nullptr) {
    region.poison = foreign != nullptr ? foreign->bits : window.bits();
    region.poison_base = physical->offset;
  }
  region.physical = physical;
  MemoryTable::get().add(std::move(region));
  ++physical->mappings;
  return true;
}

void unmapPhysical(Region& region) {
  Window& window = Window::get();
  const std::shared_ptr<Physical> physical = region.physical;
  const CUdeviceptr begin = region.begin;
  window.unmapBytes(begin, region.bytes);
  if (region.flags != 0) window.closeToHost(begin, region.bytes);
  MemoryTable::get().remove(begin);
  PhysicalTable::get().unmapped(physical);
}

CUresult mapHandle(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const auto physical = PhysicalTable::get().find(handle);
  if (physical == nullptr || bytes == 0 || bytes > physical->bytes) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t granule = vmmGranule(physical->device);
  if (address % granule != 0 || bytes % granule != 0) return CUDA_ERROR_INVALID_VALUE;
  if (PhysicalTable::get().reservationOf(address, bytes) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (anythingMapped(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return mapPhysical(physical, address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

std::vector<Region*> mappingsIn(CUdeviceptr address, std::uint64_t bytes) {
  std::vector<Region*> found;
  const CUdeviceptr end = address + bytes;
  for (CUdeviceptr at = address; at < end;) {
    Region* region = MemoryTable::get().findExact(at);
    if (region == nullptr || region->kind != RegionKind::kMapped || region->bytes > end - at) {
      return {};
    }
    found.push_back(region);
    at += region->bytes;
  }
  return found;
}

// Does not wait for work that uses the range: unmapping under a kernel makes it fault. According to
// all reports real drivers do not wait either, and a missing wait must be detected here.
CUresult unmapRange(CUdeviceptr address, std::uint64_t bytes) {
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  exec::betweenEffects([&] {
    const std::unique_lock guard(MemoryTable::get().mutex);
    const std::vector<Region*> regions = mappingsIn(address, bytes);
    if (regions.empty()) return;
    for (Device* device : usersOf(regions)) exec::noteUnmap(*device, address, bytes);
    for (Region* region : regions) unmapPhysical(*region);
    result = CUDA_SUCCESS;
  });
  return result;
}

}  // namespace divvy::simgpu
