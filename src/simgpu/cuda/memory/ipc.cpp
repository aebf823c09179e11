#include "cuda/memory/ipc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>

#include "cuda/context/api_prologue.h"
#include "cuda/context/device_attributes.h"
#include "cuda/context/exec.h"
#include "cuda/memory/host_memory.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kIpcMagic = 0x3130435049475344;  // "DSGIPC01"

// Layout of a handle's bytes.
struct IpcHandle {
  std::uint64_t magic;
  std::uint64_t start_time;
  std::uint32_t pid;
  std::int32_t fd;  // of the memfd, in that process
  std::uint32_t index;
  std::uint32_t padding;
  std::uint64_t unused[4];
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));

// In Region::import of an exported allocation: its entry ends with the region.
struct IpcExport {
  std::uint32_t index;
  explicit IpcExport(std::uint32_t at) : index(at) {}
  IpcExport(const IpcExport&) = delete;
  IpcExport& operator=(const IpcExport&) = delete;
  ~IpcExport() { Window::get().exported(index).kind = ExportKind::kNone; }
};

// In Region::import of an opened allocation.
struct IpcImport {
  std::shared_ptr<ForeignWindow> foreign;
  std::uint32_t index;
  unsigned opens;
};

// Offset of an import within its first chunk.
std::uint64_t lead(std::uint64_t offset) {
  return offset % kPoisonChunk;
}

CUresult exportRegion(Region& region, std::uint32_t* index) {
  if (region.import != nullptr) {
    *index = static_cast<const IpcExport*>(region.import.get())->index;
    return CUDA_SUCCESS;
  }
  Card& card = region.device->card;
  region.block = card.exportBlock(Charge::kPlain, region.charged);
  if (region.block == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *index = addExport({ExportKind::kIpc,
                      static_cast<std::uint32_t>(region.device->card_index),
                      Window::get().offsetOf(region.begin),
                      region.requested,
                      region.block,
                      {}});
  if (*index == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  region.import = std::make_shared<IpcExport>(*index);
  return CUDA_SUCCESS;
}

std::shared_ptr<ForeignWindow> windowOf(const IpcHandle& handle) {
  if (processStartTime(static_cast<int>(handle.pid)) != handle.start_time) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  auto foreign = openForeign(fd);
  close(fd);
  const bool expected = foreign != nullptr && foreign->header().pid == handle.pid &&
                        foreign->header().start_time == handle.start_time &&
                        handle.index <= foreign->header().exports;
  return expected ? foreign : nullptr;
}

// A further import of the same allocation in this context increments its count.
bool openedBefore(const Context& context, const ForeignWindow& foreign, std::uint32_t index,
                  CUdeviceptr* out) {
  for (auto& [begin, region] : MemoryTable::get().all()) {
    if (region.kind != RegionKind::kImported || region.owner != &context) continue;
    if (region.physical != nullptr || region.import == nullptr) continue;
    auto* import = static_cast<IpcImport*>(region.import.get());
    if (import->foreign.get() != &foreign || import->index != index) continue;
    ++import->opens;
    *out = begin;
    return true;
  }
  return false;
}

// Whether work in the context may use the device's memory. Enables peer access if the flags ask for
// it.
CUresult reach(Context& context, const Device& device, unsigned flags) {
  if (context.canAccess(device)) return CUDA_SUCCESS;
  if (!peersPossible(context.device(), device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if ((flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  const std::lock_guard guard(context.mutex);
  context.peers.insert(&device);
  return CUDA_SUCCESS;
}

CUresult importRegion(Context& context, std::shared_ptr<ForeignWindow> foreign, std::uint32_t index,
                      unsigned flags, CUdeviceptr* out) {
  const ExportEntry& entry = foreign->entry(index);
  if (entry.kind != ExportKind::kIpc) return CUDA_ERROR_INVALID_VALUE;
  Device* device = deviceOfCard(entry.card_index);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (const CUresult reached = reach(context, *device, flags); reached != CUDA_SUCCESS) {
    return reached;
  }
  if (!device->card.holdBlock(entry.block)) return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr address = mapImport(foreign.get(), entry.offset, entry.bytes);
  if (address == 0) {
    releaseBlock(*device, entry.block);
    return CUDA_ERROR_MAP_FAILED;
  }
  Region region;
  region.begin = address;
  region.bytes = entry.bytes;
  region.requested = entry.bytes;
  region.kind = RegionKind::kImported;
  region.device = device;
  region.owner = &context;
  region.poison = foreign->bits;
  region.poison_base = entry.offset;
  region.block = entry.block;
  region.access[static_cast<std::size_t>(context.device().ordinal)] =
      CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  region.import = std::make_shared<IpcImport>(IpcImport{std::move(foreign), index, 1});
  MemoryTable::get().add(std::move(region));
  *out = address;
  return CUDA_SUCCESS;
}

}  // namespace

CUdeviceptr mapImport(const ForeignWindow* foreign, std::uint64_t offset, std::uint64_t bytes) {
  Window& window = Window::get();
  const auto hole = window.reserved.allocate(roundTo(lead(offset) + bytes, kLargePage), kLargePage);
  if (!hole) return 0;
  const CUdeviceptr base = window.base() + *hole;
  const WindowHeader& header = foreign != nullptr ? foreign->header() : window.header();
  if (!window.mapBytes(base, roundTo(lead(offset) + bytes, kPoisonChunk),
                       foreign != nullptr ? foreign->fd : window.fd(),
                       header.data_offset + offset - lead(offset))) {
    window.reserved.release(*hole, roundTo(lead(offset) + bytes, kLargePage));
    return 0;
  }
  return base + lead(offset);
}

void unmapImport(CUdeviceptr address, std::uint64_t bytes) {
  Window& window = Window::get();
  const CUdeviceptr base = address / kLargePage * kLargePage;
  const std::uint64_t taken = roundTo(address - base + bytes, kLargePage);
  window.unmapBytes(base, taken);
  window.reserved.release(base - window.base(), taken);
}

CUresult exportAllocation(CUdeviceptr address, CUipcMemHandle* out) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  Region* region = MemoryTable::get().find(address);
  if (region == nullptr || region->kind != RegionKind::kPlain || region->charge != Charge::kPlain) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  IpcHandle handle{};
  if (const CUresult result = exportRegion(*region, &handle.index); result != CUDA_SUCCESS) {
    return result;
  }
  const WindowHeader& header = Window::get().header();
  handle.magic = kIpcMagic;
  handle.start_time = header.start_time;
  handle.pid = header.pid;
  handle.fd = Window::get().fd();
  std::memcpy(out, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

CUresult openAllocation(Context& context, const CUipcMemHandle& bytes, unsigned flags,
                        CUdeviceptr* out) {
  IpcHandle handle;
  std::memcpy(&handle, &bytes, sizeof handle);
  if (handle.magic != kIpcMagic || handle.index == 0) return CUDA_ERROR_INVALID_VALUE;
  const WindowHeader& own = Window::get().header();
  // The exporter itself has the address and must not open it.
  if (handle.pid == own.pid && handle.start_time == own.start_time) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const std::unique_lock guard(MemoryTable::get().mutex);
  auto foreign = windowOf(handle);
  if (foreign == nullptr) return CUDA_ERROR_MAP_FAILED;
  if (openedBefore(context, *foreign, handle.index, out)) return CUDA_SUCCESS;
  return importRegion(context, std::move(foreign), handle.index, flags, out);
}

CUresult closeAllocation(CUdeviceptr address) {
  Device* device = nullptr;
  {
    const std::unique_lock guard(MemoryTable::get().mutex);
    Region* region = MemoryTable::get().findExact(address);
    const bool opened = region != nullptr && region->kind == RegionKind::kImported &&
                        region->physical == nullptr && region->import != nullptr;
    if (!opened) return CUDA_ERROR_INVALID_VALUE;
    auto* import = static_cast<IpcImport*>(region->import.get());
    if (import->opens > 1) {
      --import->opens;
      return CUDA_SUCCESS;
    }
    device = region->device;
  }
  if (const CUresult idle = exec::synchronizeDevice(*device); idle != CUDA_SUCCESS) return idle;
  closeImport(address);
  return CUDA_SUCCESS;
}

void closeImport(CUdeviceptr address) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  Region* region = MemoryTable::get().findExact(address);
  if (region == nullptr || region->kind != RegionKind::kImported) return;
  const std::shared_ptr<Physical> physical = region->physical;
  Device* device = region->device;
  const std::uint64_t block = region->block;
  unmapImport(address, region->bytes);
  MemoryTable::get().remove(address);
  if (physical != nullptr) PhysicalTable::get().unmapped(physical);
  if (block != 0) releaseBlock(*device, block);
}

SIMGPU_IMPL(cuIpcGetMemHandle)(CUipcMemHandle* out, CUdeviceptr address) {
  return withContext(Cu::cuIpcGetMemHandle, [&](Context&) -> CUresult {
    return out == nullptr ? CUDA_ERROR_INVALID_VALUE : exportAllocation(address, out);
  });
}
SIMGPU_IMPL(cuIpcOpenMemHandle_v2)(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return withContext(Cu::cuIpcOpenMemHandle_v2, [&](Context& context) -> CUresult {
    if (out == nullptr || (flags & ~unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return openAllocation(context, handle, flags, out);
  });
}
SIMGPU_IMPL(cuIpcOpenMemHandle)(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return sim_cuIpcOpenMemHandle_v2(out, handle, flags);
}
SIMGPU_IMPL(cuIpcCloseMemHandle)(CUdeviceptr address) {
  return withContext(Cu::cuIpcCloseMemHandle, [&](Context&) { return closeAllocation(address); });
}

}  // namespace divvy::simgpu
