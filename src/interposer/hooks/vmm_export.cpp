// Physical memory that is exported, imported or bound. Swappable memory stays on the device from
// then on.
#include "accounting/allocation.h"

using namespace divvy::interposer;
using divvy::abi::Cu;

namespace {

bool isToken(const DriverCallScope& inside, CUmemGenericAllocationHandle handle) {
  return !inside.nested() && VmmHandles::isToken(handle) && runtime().tokens.any();
}

// Calls with the driver's handle of the memory.
template <typename Call>
CUresult bind(CUmemGenericAllocationHandle memory, Call call) {
  const DriverCallScope inside;
  if (!isToken(inside, memory)) return call(memory);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult exposed = VmmProxyHandles::expose(memory, PinReason::kMulticast, &handle);
  return exposed == CUDA_SUCCESS ? call(handle) : exposed;
}

// Pins all of our memory in the range, which may contain several adjoining mappings of the
// application.
CUresult pinRange(std::uint64_t address, std::uint64_t bytes, PinReason reason) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 44;  // the driver refuses more
  const ChunkTable& chunks = runtime().chunks;
  const std::uint64_t step = chunks.granule();
  std::uint32_t pinned = ChunkTable::kNone;
  if (bytes > kMax) return CUDA_SUCCESS;
  for (std::uint64_t at = address; at - address < bytes; at = (at & ~(step - 1)) + step) {
    ChunkTable::Place place;
    if (!chunks.find(at, &place) || place.block == pinned) continue;
    const CUresult result = runtime().swappable.pin(place.block, reason);
    if (result != CUDA_SUCCESS) return result;
    pinned = place.block;
  }
  return CUDA_SUCCESS;
}

// Calls once the memory in the range is pinned. It stays pinned even if the driver refuses.
template <typename Call>
CUresult stay(CUdeviceptr address, std::size_t bytes, PinReason reason, Call call) {
  const DriverCallScope inside;
  if (inside.nested() || !runtime().chunks.any()) return call();
  const CUresult pinned = pinRange(address, bytes, reason);
  return pinned == CUDA_SUCCESS ? call() : pinned;
}

}  // namespace

DIVVY_HOOK(cuMemGetAllocationPropertiesFromHandle)
(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) noexcept {
  const DriverCallScope inside;
  if (isToken(inside, handle)) return VmmProxyHandles::properties(handle, prop);
  return real<Cu::cuMemGetAllocationPropertiesFromHandle>()(prop, handle);
}

DIVVY_HOOK(cuMemExportToShareableHandle)
(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
 unsigned long long flags) noexcept {
  const DriverCallScope inside;
  if (isToken(inside, handle)) return runtime().tokens.exportTo(out, handle, type, flags);
  return real<Cu::cuMemExportToShareableHandle>()(out, handle, type, flags);
}

// The process that made imported memory is charged for it. If the driver returns a handle that this
// process holds already, the reference count increases.
DIVVY_HOOK(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* handle, void* os_handle, CUmemAllocationHandleType type) noexcept {
  const DriverCallScope inside;
  const CUresult result = real<Cu::cuMemImportFromShareableHandle>()(handle, os_handle, type);
  if (inside.nested() || !runtime().tenant.ready() || result != CUDA_SUCCESS || handle == nullptr) {
    return result;
  }
  if (const CUmemGenericAllocationHandle token = runtime().tokens.imported(*handle); token != 0) {
    real<Cu::cuMemRelease>()(*handle);
    *handle = token;
    return result;
  }
  runtime().vmm.retain(*handle, 0);
  if (runtime().swap_board.claimed()) runtime().swap_board.notePin(PinReason::kImported);
  return result;
}

DIVVY_HOOK(cuMulticastBindMem)
(CUmemGenericAllocationHandle multicast, std::size_t offset, CUmemGenericAllocationHandle memory,
 std::size_t memory_offset, std::size_t size, unsigned long long flags) noexcept {
  return bind(memory, [=](CUmemGenericAllocationHandle handle) {
    return real<Cu::cuMulticastBindMem>()(multicast, offset, handle, memory_offset, size, flags);
  });
}

DIVVY_HOOK(cuMulticastBindMem_v2)
(CUmemGenericAllocationHandle multicast, CUdevice device, std::size_t offset,
 CUmemGenericAllocationHandle memory, std::size_t memory_offset, std::size_t size,
 unsigned long long flags) noexcept {
  return bind(memory, [=](CUmemGenericAllocationHandle handle) {
    return real<Cu::cuMulticastBindMem_v2>()(multicast, device, offset, handle, memory_offset, size,
                                             flags);
  });
}

DIVVY_HOOK(cuLogicalEndpointBindMem)
(CUlogicalEndpointId endpoint, CUdevice device, cuuint64_t offset,
 CUmemGenericAllocationHandle memory, cuuint64_t memory_offset, cuuint64_t size,
 unsigned long long flags) noexcept {
  return bind(memory, [=](CUmemGenericAllocationHandle handle) {
    return real<Cu::cuLogicalEndpointBindMem>()(endpoint, device, offset, handle, memory_offset,
                                                size, flags);
  });
}

DIVVY_HOOK(cuMulticastBindAddr)
(CUmemGenericAllocationHandle multicast, std::size_t offset, CUdeviceptr address, std::size_t size,
 unsigned long long flags) noexcept {
  return stay(address, size, PinReason::kMulticast, [=] {
    return real<Cu::cuMulticastBindAddr>()(multicast, offset, address, size, flags);
  });
}

DIVVY_HOOK(cuMulticastBindAddr_v2)
(CUmemGenericAllocationHandle multicast, CUdevice device, std::size_t offset, CUdeviceptr address,
 std::size_t size, unsigned long long flags) noexcept {
  return stay(address, size, PinReason::kMulticast, [=] {
    return real<Cu::cuMulticastBindAddr_v2>()(multicast, device, offset, address, size, flags);
  });
}

DIVVY_HOOK(cuMemGetHandleForAddressRange)
(void* handle, CUdeviceptr address, std::size_t size, CUmemRangeHandleType type,
 unsigned long long flags) noexcept {
  return stay(address, size, PinReason::kForeignUse, [=] {
    return real<Cu::cuMemGetHandleForAddressRange>()(handle, address, size, type, flags);
  });
}
