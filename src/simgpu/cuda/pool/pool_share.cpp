// Pools across processes: a pool is passed as a descriptor, its pointers as 64 bytes each.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>

#include "cuda/context/api_prologue.h"
#include "cuda/pool/pool.h"
#include "cuda/pool/pool_share.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kPointerMagic = 0x3152545047495344;  // "DSIGPTR1"

// Contents of CUmemPoolPtrExportData.
struct PointerExport {
  std::uint64_t magic;
  std::uint64_t offset;  // window offset of the exporter
  std::uint64_t bytes;
  std::uint64_t requested;
  std::uint64_t block;
};
static_assert(sizeof(PointerExport) <= sizeof(CUmemPoolPtrExportData));

// A new descriptor of this process's memfd; its position names an entry of the export table.
CUresult descriptorOf(std::uint32_t index, int* out) {
  const Window& window = Window::get();
  const std::string path = "/proc/self/fd/" + std::to_string(window.fd());
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  const std::uint64_t at = window.header().exports_offset + index * sizeof(ExportEntry);
  lseek(fd, static_cast<off_t>(at), SEEK_SET);
  *out = fd;
  return CUDA_SUCCESS;
}

CUresult exportPool(MemPool& pool, int* out) {
  const auto types = static_cast<unsigned>(pool.props().handleTypes);
  if ((types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0 || pool.imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (pool.export_index == 0) {
    ExportEntry entry{};
    entry.kind = ExportKind::kPool;
    entry.card_index =
        pool.device() == nullptr ? ~0U : static_cast<unsigned>(pool.device()->card_index);
    pool.export_index = addExport(entry);
    if (pool.export_index == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return descriptorOf(pool.export_index, out);
}

CUresult importPool(int fd, CUmemoryPool* out) {
  const std::shared_ptr<ForeignWindow> source = openForeign(fd);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const off_t position = lseek(fd, 0, SEEK_CUR);
  const std::uint64_t from = source->header().exports_offset;
  if (position < static_cast<off_t>(from)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t index = (static_cast<std::uint64_t>(position) - from) / sizeof(ExportEntry);
  if (index == 0 || index > source->header().exports) return CUDA_ERROR_INVALID_VALUE;
  const ExportEntry& entry = source->entry(static_cast<std::uint32_t>(index));
  if (entry.kind != ExportKind::kPool) return CUDA_ERROR_INVALID_VALUE;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  for (const auto& device : Runtime::get().devices()) {
    if (static_cast<unsigned>(device->card_index) != entry.card_index) continue;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device->ordinal;
    auto* pool = new MemPool(device.get(), props);
    pool->imported = true;
    pool->import_source = source;
    *out = pool->handle();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;  // the card is not visible here
}

CUresult exportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  Region* region = MemoryTable::get().findExact(address);
  if (out == nullptr || region == nullptr || region->kind != RegionKind::kPool) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemPool& pool = *region->pool;
  if (pool.export_index == 0 || pool.device() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  PoolSegment* segment = pool.segmentOf(address);
  if (segment->block == 0) {
    segment->block = pool.device()->card.exportBlock(Charge::kPool, segment->bytes);
    if (segment->block == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const PointerExport data{kPointerMagic, Window::get().offsetOf(address), region->bytes,
                           region->requested, segment->block};
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &data, sizeof data);
  return CUDA_SUCCESS;
}

CUresult importPointer(CUdeviceptr* out, MemPool& pool, const CUmemPoolPtrExportData* shared) {
  if (out == nullptr || shared == nullptr || !pool.imported) return CUDA_ERROR_INVALID_VALUE;
  PointerExport data{};
  std::memcpy(&data, shared, sizeof data);
  const auto source = std::static_pointer_cast<ForeignWindow>(pool.import_source);
  if (data.magic != kPointerMagic || data.bytes == 0 ||
      data.offset + data.bytes > source->header().window_bytes / 2) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Whole chunks around it are mapped, as laying poison requires.
  const std::uint64_t first = data.offset / kPoisonChunk * kPoisonChunk;
  const std::uint64_t bytes = roundTo(data.offset + data.bytes - first, kPoisonChunk);
  Window& window = Window::get();
  const auto at = window.reserved.allocate(bytes, kLargePage);
  if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUdeviceptr begin = window.base() + *at;
  if (!pool.device()->card.holdBlock(data.block)) {
    window.reserved.release(*at, bytes);
    return CUDA_ERROR_INVALID_VALUE;  // the exporter has freed it
  }
  if (!window.mapBytes(begin, bytes, source->fd, source->header().data_offset + first)) {
    releaseBlock(*pool.device(), data.block);
    window.reserved.release(*at, bytes);
    return CUDA_ERROR_MAP_FAILED;
  }
  Region region;
  region.begin = begin + (data.offset - first);
  region.bytes = data.bytes;
  region.requested = data.requested;
  region.kind = RegionKind::kImported;
  region.charge = Charge::kPool;
  region.device = pool.device();
  region.pool = &pool;
  region.access = pool.access;
  region.poison = source->bits;
  region.poison_base = data.offset;
  region.block = data.block;
  *out = region.begin;
  MemoryTable::get().add(std::move(region));
  ++pool.blocks;
  return CUDA_SUCCESS;
}

}  // namespace

void releasePoolImport(Region& region) {
  Window& window = Window::get();
  MemPool* pool = region.pool;
  const CUdeviceptr address = region.begin;
  const std::uint64_t lead = region.poison_base % kPoisonChunk;
  const std::uint64_t bytes = roundTo(lead + region.bytes, kPoisonChunk);
  const std::uint64_t block = region.block;
  MemoryTable::get().remove(address);
  window.unmapBytes(address - lead, bytes);
  window.reserved.release(window.offsetOf(address - lead), bytes);
  releaseBlock(*pool->device(), block);
  --pool->blocks;
}

SIMGPU_IMPL(cuMemPoolExportToShareableHandle)
(void* out, CUmemoryPool handle, CUmemAllocationHandleType type, unsigned long long flags) {
  return withDriver(Cu::cuMemPoolExportToShareableHandle, [&]() -> CUresult {
    if (out == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::unique_lock guard(MemoryTable::get().mutex);
    MemPool* pool = findPool(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : exportPool(*pool, static_cast<int*>(out));
  });
}
SIMGPU_IMPL(cuMemPoolImportFromShareableHandle)
(CUmemoryPool* out, void* handle, CUmemAllocationHandleType type, unsigned long long flags) {
  return withDriver(Cu::cuMemPoolImportFromShareableHandle, [&]() -> CUresult {
    if (out == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::unique_lock guard(MemoryTable::get().mutex);
    return importPool(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)), out);
  });
}
SIMGPU_IMPL(cuMemPoolExportPointer)(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  return withDriver(Cu::cuMemPoolExportPointer, [&] {
    const std::unique_lock guard(MemoryTable::get().mutex);
    return exportPointer(out, address);
  });
}
SIMGPU_IMPL(cuMemPoolImportPointer)
(CUdeviceptr* out, CUmemoryPool handle, CUmemPoolPtrExportData* data) {
  return withDriver(Cu::cuMemPoolImportPointer, [&]() -> CUresult {
    const std::unique_lock guard(MemoryTable::get().mutex);
    MemPool* pool = findPool(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : importPointer(out, *pool, data);
  });
}

}  // namespace divvy::simgpu
