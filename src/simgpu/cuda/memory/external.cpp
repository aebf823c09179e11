#include "cuda/memory/external.h"

#include <unistd.h>

#include <mutex>

#include "cuda/context/api_prologue.h"
#include "cuda/context/device_attributes.h"
#include "cuda/memory/ipc.h"

namespace divvy::simgpu {
namespace {

constexpr unsigned kDedicated = 1;  // CUDA_EXTERNAL_MEMORY_DEDICATED

// By handle, which is not an address. Under MemoryTable::mutex.
struct ImportedMemory {
  std::map<std::uintptr_t, std::shared_ptr<Physical>> by_handle;
  std::uintptr_t next = 1;
};

ImportedMemory& imported() {
  static auto* const all = new ImportedMemory;
  return *all;
}

std::uintptr_t keyOf(CUexternalMemory handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

bool reachable(const Context& context, const Physical& physical) {
  return physical.device == nullptr || physical.device == &context.device() ||
         peersPossible(context.device(), *physical.device);
}

}  // namespace

CUresult importExternal(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc, CUexternalMemory* out) {
  if (desc.size == 0 || (desc.flags & ~kDedicated) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (desc.type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return CUDA_ERROR_NOT_SUPPORTED;
  const std::unique_lock guard(MemoryTable::get().mutex);
  std::shared_ptr<Physical> physical;
  const CUresult result = importPhysical(desc.handle.fd, &physical);
  if (result == CUDA_ERROR_INVALID_VALUE) return CUDA_ERROR_INVALID_HANDLE;
  if (result != CUDA_SUCCESS) return result;
  if (desc.size > physical->bytes) {
    PhysicalTable::get().release(physical);
    return CUDA_ERROR_INVALID_VALUE;
  }
  close(desc.handle.fd);  // the driver owns it from here on
  const std::uintptr_t key = imported().next++;
  imported().by_handle.emplace(key, physical);
  *out = reinterpret_cast<CUexternalMemory>(key);
  return CUDA_SUCCESS;
}

CUresult destroyExternal(CUexternalMemory handle) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const auto found = imported().by_handle.find(keyOf(handle));
  if (found == imported().by_handle.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Physical> physical = found->second;
  imported().by_handle.erase(found);
  PhysicalTable::get().release(physical);
  collectRetired();
  return CUDA_SUCCESS;
}

CUresult mapExternalBuffer(Context& context, CUexternalMemory handle,
                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc, CUdeviceptr* out) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  const auto found = imported().by_handle.find(keyOf(handle));
  if (found == imported().by_handle.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Physical> physical = found->second;
  if (desc.flags != 0 || desc.size == 0 || desc.offset > physical->bytes ||
      desc.size > physical->bytes - desc.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!reachable(context, *physical)) return CUDA_ERROR_INVALID_DEVICE;
  const std::uint64_t offset = physical->offset + desc.offset;
  const CUdeviceptr address = mapImport(physical->foreign.get(), offset, desc.size);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Region region;
  region.begin = address;
  region.bytes = desc.size;
  region.requested = desc.size;
  region.kind = RegionKind::kImported;
  region.charge = Charge::kVmm;
  region.device = physical->device;
  region.owner = &context;
  if (physical->device != nullptr) {
    region.poison = physical->foreign != nullptr ? physical->foreign->bits : Window::get().bits();
    region.poison_base = offset;
  }
  region.access[static_cast<std::size_t>(context.device().ordinal)] =
      CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  region.physical = physical;
  region.physical_offset = desc.offset;
  MemoryTable::get().add(std::move(region));
  ++physical->mappings;
  *out = address;
  return CUDA_SUCCESS;
}

SIMGPU_IMPL(cuImportExternalMemory)
(CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  return withDriver(Cu::cuImportExternalMemory, [&]() -> CUresult {
    if (out == nullptr || desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return importExternal(*desc, out);
  });
}
SIMGPU_IMPL(cuExternalMemoryGetMappedBuffer)
(CUdeviceptr* out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  return withContext(Cu::cuExternalMemoryGetMappedBuffer, [&](Context& context) -> CUresult {
    if (out == nullptr || desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return mapExternalBuffer(context, memory, *desc, out);
  });
}
SIMGPU_IMPL(cuDestroyExternalMemory)(CUexternalMemory memory) {
  return withDriver(Cu::cuDestroyExternalMemory, [&] { return destroyExternal(memory); });
}

}  // namespace divvy::simgpu
