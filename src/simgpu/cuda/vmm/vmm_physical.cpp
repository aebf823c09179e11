#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "cuda/context/faults.h"
#include "cuda/vmm/vmm.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kKnownHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                       CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT |
                                       CU_MEM_HANDLE_TYPE_FABRIC;

bool numaNodeExists(int node) {
  if (node == 0) return true;
  const std::string path = "/sys/devices/system/node/node" + std::to_string(node);
  return node > 0 && access(path.c_str(), F_OK) == 0;
}

CUresult checkLocation(CUmemAllocationProp& prop, Device** device) {
  *device = nullptr;
  switch (prop.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN:
      // With one domain for each device, it is another name for the device.
      if (prop.location.localized.localityDomainId != 0) return CUDA_ERROR_INVALID_VALUE;
      prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {prop.location.localized.deviceId}};
      [[fallthrough]];
    case CU_MEM_LOCATION_TYPE_DEVICE:
      *device = findDevice(prop.location.id);
      return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
      if (Faults::get().mapsNoHostMemory()) return CUDA_ERROR_NOT_SUPPORTED;
      return prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (Faults::get().mapsNoHostMemory()) return CUDA_ERROR_NOT_SUPPORTED;
      return numaNodeExists(prop.location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// Host memory is written without poison bits. It is marked as touched, or its pages would not be
// returned.
void zero(std::uint64_t offset, std::uint64_t bytes) {
  Window& window = Window::get();
  window.bits().markTouched(offset, bytes);
  window.discard(offset, bytes);
}

}  // namespace

std::uint64_t vmmGranule(const Device* device) {
  if (device != nullptr) return device->profile->vmm_granule;
  std::uint64_t coarsest = 0;
  for (int i = 0; i < deviceCount(); ++i) {
    coarsest = std::max(coarsest, findDevice(i)->profile->vmm_granule);
  }
  return coarsest;
}

CUresult checkAllocation(const CUmemAllocationProp& prop, CUmemAllocationProp* normal,
                         Device** device) {
  *normal = prop;
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  if ((types & ~kKnownHandleTypes) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((types & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  // Compression is a request that the driver need not grant.
  normal->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
  normal->win32HandleMetaData = nullptr;
  return checkLocation(*normal, device);
}

PhysicalTable& PhysicalTable::get() {
  static PhysicalTable* const table = new PhysicalTable;
  return *table;
}

std::shared_ptr<Physical> PhysicalTable::make(Device* device, std::uint64_t bytes,
                                              const CUmemAllocationProp& prop) {
  Window& window = Window::get();
  const auto offset = window.physical.allocate(bytes, std::min(vmmGranule(device), kLargePage));
  if (!offset) return nullptr;
  if (device != nullptr) {
    window.bits().repoison(*offset, bytes, window.alias(window.base() + *offset));
  } else {
    zero(*offset, bytes);  // former device memory leaves its contents
  }
  Physical made;
  made.bytes = bytes;
  made.device = device;
  made.prop = prop;
  made.offset = *offset;
  return adopt(std::move(made));
}

std::shared_ptr<Physical> PhysicalTable::adopt(Physical imported) {
  imported.handle = next_handle_++;
  imported.handles = 1;
  auto physical = std::make_shared<Physical>(std::move(imported));
  by_handle_.emplace(physical->handle, physical);
  return physical;
}

std::shared_ptr<Physical> PhysicalTable::find(CUmemGenericAllocationHandle handle) const {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() || found->second->handles == 0 ? nullptr : found->second;
}

void PhysicalTable::retain(const std::shared_ptr<Physical>& physical) {
  ++physical->handles;
}

void PhysicalTable::release(const std::shared_ptr<Physical>& physical) {
  --physical->handles;
  freeIfUnused(*physical);
}

void PhysicalTable::unmapped(const std::shared_ptr<Physical>& physical) {
  --physical->mappings;
  freeIfUnused(*physical);
}

void PhysicalTable::freeIfUnused(Physical& physical) {
  if (physical.handles != 0 || physical.mappings != 0) return;
  const CUmemGenericAllocationHandle handle = physical.handle;
  if (physical.foreign != nullptr) {
    dropImported(physical);
  } else if (physical.export_index != 0) {
    retireExported(physical);
  } else {
    freePhysicalBytes(physical);
    if (physical.device != nullptr) physical.device->card.refund(Charge::kVmm, physical.bytes);
  }
  by_handle_.erase(handle);
}

void freePhysicalBytes(const Physical& physical) {
  Window& window = Window::get();
  if (physical.device == nullptr) {
    zero(physical.offset, physical.bytes);
  } else {
    window.discardPhysical(physical.offset, physical.bytes);
  }
  window.physical.release(physical.offset, physical.bytes);
}

const Reservation* PhysicalTable::reservationOf(CUdeviceptr address, std::uint64_t bytes) const {
  auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return nullptr;
  const auto& [begin, reservation] = *std::prev(after);
  const std::uint64_t at = address - begin;
  const bool inside = at < reservation.bytes && bytes <= reservation.bytes - at;
  return inside ? &reservation : nullptr;
}

CUresult createPhysical(const CUmemAllocationProp& prop, std::uint64_t bytes,
                        CUmemGenericAllocationHandle* out) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp normal;
  Device* device = nullptr;
  if (const CUresult fine = checkAllocation(prop, &normal, &device); fine != CUDA_SUCCESS) {
    return fine;
  }
  if (bytes % vmmGranule(device) != 0) return CUDA_ERROR_INVALID_VALUE;
  MemoryTable& table = MemoryTable::get();
  {
    const std::unique_lock guard(table.mutex);
    collectRetired();
  }
  if (device != nullptr) {
    if (Faults::get().armed() && Faults::get().refuseAllocation()) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!device->card.charge(Charge::kVmm, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::unique_lock guard(table.mutex);
  const auto physical = PhysicalTable::get().make(device, bytes, normal);
  if (physical == nullptr) {
    if (device != nullptr) device->card.refund(Charge::kVmm, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = physical->handle;
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
