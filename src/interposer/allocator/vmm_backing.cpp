#include "allocator/vmm_backing.h"

#include "cuda/capture_scope.h"
#include "runtime.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kUsualChunk = std::uint64_t{32} << 20;

bool isPowerOfTwo(std::uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

bool driverHasIt(CUdevice ordinal) {
  for (const Cu id :
       {Cu::cuMemAddressReserve, Cu::cuMemAddressFree, Cu::cuMemCreate, Cu::cuMemRelease,
        Cu::cuMemMap, Cu::cuMemUnmap, Cu::cuMemSetAccess, Cu::cuMemGetAllocationGranularity}) {
    if (!runtime().driver.has(id)) return false;
  }
  int supported = 0;
  const CUresult result = real<Cu::cuDeviceGetAttribute>()(
      &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, ordinal);
  return result == CUDA_SUCCESS && supported != 0;
}

std::uint64_t chunkBytes(std::uint64_t granule) {
  const std::uint64_t wanted = runtime().tenant.control().header.swap.chunk_bytes;
  const std::uint64_t bytes = isPowerOfTwo(wanted) ? wanted : kUsualChunk;
  return bytes < granule ? granule : bytes;
}

// Plain memory can be copied to and from every device, and all contexts that enable access to its
// device reach it. Our memory is reached only by devices with access rights, so all devices of the
// tenant get them at once. Returns false if one of them cannot.
bool listAccess(BackingTerms* terms, const DeviceTable& table) {
  for (int i = 0; i < table.count; ++i) {
    CUdevice other = -1;
    if (real<Cu::cuDeviceGet>()(&other, table.ordinal[i]) != CUDA_SUCCESS) return false;
    int reaches = other == terms->ordinal ? 1 : 0;
    if (reaches == 0 &&
        real<Cu::cuDeviceCanAccessPeer>()(&reaches, other, terms->ordinal) != CUDA_SUCCESS) {
      return false;
    }
    if (reaches == 0 || terms->access_count == BackingTerms::kMaxAccess) return false;
    CUmemAccessDesc& entry = terms->access[terms->access_count++];
    entry.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    entry.location.id = other;
    entry.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return terms->access_count != 0;
}

// Whether memory of the host node next to the device can replace the device's memory in a mapping.
bool learnHost(BackingTerms* terms) {
  int supported = 0, node = 0;
  if (real<Cu::cuDeviceGetAttribute>()(
          &supported, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
          terms->ordinal) != CUDA_SUCCESS ||
      supported == 0) {
    return false;
  }
  if (real<Cu::cuDeviceGetAttribute>()(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, terms->ordinal) !=
          CUDA_SUCCESS ||
      node < 0) {
    node = 0;
  }
  terms->host_prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  terms->host_prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  terms->host_prop.location.id = node;
  std::size_t granule = 0;
  return real<Cu::cuMemGetAllocationGranularity>()(
             &granule, &terms->host_prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
         granule != 0 && terms->granule % granule == 0;
}

bool learnTerms(BackingTerms* terms, CUdevice ordinal, const DeviceTable& table) {
  terms->ordinal = ordinal;
  terms->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  terms->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  terms->prop.location.id = ordinal;
  if (!driverHasIt(ordinal)) return false;
  // So that a block can be exported to other processes while it is on the device.
  int by_descriptor = 0;
  if (runtime().driver.has(Cu::cuMemExportToShareableHandle) &&
      real<Cu::cuDeviceGetAttribute>()(
          &by_descriptor, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
          ordinal) == CUDA_SUCCESS &&
      by_descriptor != 0) {
    terms->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  std::size_t granule = 0;
  if (real<Cu::cuMemGetAllocationGranularity>()(&granule, &terms->prop,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      !isPowerOfTwo(granule)) {
    return false;
  }
  terms->granule = granule;
  terms->chunk_bytes = chunkBytes(granule);
  terms->maps_host = learnHost(terms);
  return listAccess(terms, table) && runtime().chunks.setGranule(granule);
}

}  // namespace

// Concurrent threads find the same values; one of them publishes them.
const BackingTerms* Backing::learn(CUdevice ordinal, unsigned device) {
  const DeviceTable* table = runtime().devices.get();
  if (table == nullptr) return nullptr;
  const ErrnoKeeper keeper;
  auto* fresh = static_cast<BackingTerms*>(sys::mapAnonymous(sizeof(BackingTerms)));
  if (fresh == nullptr) return nullptr;
  {
    const RelaxedCapture relaxed;
    fresh->usable = learnTerms(fresh, ordinal, *table);
  }
  if (!fresh->usable) noteFault(Fault::kSwapUnusable, static_cast<std::uint32_t>(Cu::cuMemCreate));
  const BackingTerms* expected = nullptr;
  if (terms_[device].compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
    if (fresh->usable) showHost(fresh->maps_host);
    return fresh;
  }
  sys::unmap(fresh, sizeof(BackingTerms));
  return expected;
}

namespace {

// With the properties that the chunk's block was requested with.
CUmemAllocationProp propOf(const BackingTerms& terms, const SwapBlock& block) {
  CUmemAllocationProp prop = terms.prop;
  if (block.isHandles()) {
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(block.made_as.handle_types);
  }
  prop.allocFlags.gpuDirectRDMACapable = block.made_as.rdma ? 1 : 0;
  return prop;
}

// A handle of the driver for a chunk.
CUresult create(const CUmemAllocationProp& prop, Chunk& chunk) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = real<Cu::cuMemCreate>()(&handle, chunk.bytes, &prop, 0);
  chunk.setHandle(result == CUDA_SUCCESS ? handle : 0);
  return result;
}

// Maps it at its own address first, then at the application's views.
CUresult place(const BackingTerms& terms, Chunk& chunk) {
  CUresult result = real<Cu::cuMemMap>()(chunk.address, chunk.bytes, 0, chunk.handle, 0);
  if (result != CUDA_SUCCESS) return result;
  result = real<Cu::cuMemSetAccess>()(chunk.address, chunk.bytes, terms.access, terms.access_count);
  if (result == CUDA_SUCCESS) {
    result = runtime().views.settle(chunk, false);
    if (result == CUDA_SUCCESS) return result;
    runtime().views.close(chunk);
  }
  real<Cu::cuMemUnmap>()(chunk.address, chunk.bytes);
  return result;
}

// Maps memory behind it, or nothing.
CUresult back(const BackingTerms& terms, const CUmemAllocationProp& prop, Chunk& chunk) {
  const RelaxedCapture relaxed;
  CUresult result = create(prop, chunk);
  if (result != CUDA_SUCCESS) return result;
  chunk.shown = 0;
  result = place(terms, chunk);
  if (result == CUDA_SUCCESS) return result;
  real<Cu::cuMemRelease>()(chunk.handle);
  chunk.setHandle(0);
  return result;
}

}  // namespace

CUresult Backing::map(Chunk& chunk) {
  const BackingTerms& terms = termsOf(chunk);
  const SwapBlock& block = runtime().chunks.block(chunk.block.load(std::memory_order_relaxed));
  const CUresult result = back(terms, propOf(terms, block), chunk);
  chunk.at_host = false;
  return result;
}

CUresult Backing::mapHost(Chunk& chunk) {
  const BackingTerms& terms = termsOf(chunk);
  if (!maps_host_.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = back(terms, terms.host_prop, chunk);
  chunk.at_host = result == CUDA_SUCCESS;
  // The driver does not perform a function that it reported as supported.
  const bool never = result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
  if (never) showHost(false);
  return never ? CUDA_ERROR_NOT_SUPPORTED : result;
}

const BackingTerms& Backing::termsOf(const Chunk& chunk) const {
  return *terms_[chunk.device.load(std::memory_order_relaxed)].load(std::memory_order_acquire);
}

// One device without support is enough, because the process reports it once for all of them.
void Backing::showHost(bool maps) {
  if (!maps) maps_host_.store(false, std::memory_order_seq_cst);
  SwapReport& board = runtime().swap_board;
  if (maps_host_.load(std::memory_order_seq_cst)) board.raise(ledger::kSwapMapsHost);
  if (!maps_host_.load(std::memory_order_seq_cst)) board.lower(ledger::kSwapMapsHost);
}

CUresult Backing::unmap(Chunk& chunk) {
  const RelaxedCapture relaxed;
  CUresult unmapped = runtime().views.close(chunk);
  if (unmapped == CUDA_SUCCESS) unmapped = real<Cu::cuMemUnmap>()(chunk.address, chunk.bytes);
  if (unmapped != CUDA_SUCCESS) {
    runtime().views.settle(chunk, false);
    return unmapped;
  }
  const CUresult released = real<Cu::cuMemRelease>()(chunk.handle);
  chunk.setHandle(0);
  return released;
}

CUresult Backing::settle(Chunk& chunk, bool anew) {
  const RelaxedCapture relaxed;
  return runtime().views.settle(chunk, anew);
}

void Backing::forgetAfterFork() {
  for (auto& terms : terms_) terms.store(nullptr, std::memory_order_relaxed);
  maps_host_.store(true, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
