#include "cuda/pool/pool.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "cuda/graph/graph_memory.h"
#include "cuda/pool/pool_exec.h"

namespace divvy::simgpu {
namespace {

// Under MemoryTable::mutex.
std::set<MemPool*>& livePools() {
  static auto* const pools = new std::set<MemPool*>;
  return *pools;
}

bool isHost(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

}  // namespace

MemPool::MemPool(Device* device, const CUmemPoolProps& props) : device_(device), props_(props) {
  if (device_ != nullptr) access[device_->ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (isHost(props.location.type)) access.fill(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  livePools().insert(this);
}

PoolSegment* MemPool::segmentOf(CUdeviceptr address) {
  auto after = segments_.upper_bound(address);
  if (after == segments_.begin()) return nullptr;
  auto& [begin, segment] = *std::prev(after);
  return address - begin < segment.bytes ? &segment : nullptr;
}

bool MemPool::chargeSegment(std::uint64_t bytes) {
  return device_ == nullptr || device_->card.charge(Charge::kPool, bytes);
}

CUresult MemPool::grow(std::size_t bytes) {
  const std::uint64_t wanted = roundTo(bytes, kPoolUnit);
  if (wanted == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (props_.maxSize != 0 && reserved_ + wanted > roundTo(props_.maxSize, kPoolUnit)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (!chargeSegment(wanted)) {
    trimAllPools(*device_);
    if (!chargeSegment(wanted)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUdeviceptr begin = reserveAddresses(wanted, false);
  if (begin == 0) {
    if (device_ != nullptr) device_->card.refund(Charge::kPool, wanted);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (device_ == nullptr) Window::get().openToHost(begin, wanted);
  addSegment(begin, wanted);
  return CUDA_SUCCESS;
}

void MemPool::addSegment(CUdeviceptr begin, std::uint64_t bytes) {
  PoolSegment& segment = segments_[begin];
  segment.bytes = bytes;
  segment.free.reset(begin, begin + bytes);
  reserved_ += bytes;
  reserved_high_ = std::max(reserved_high_, reserved_);
}

std::uint64_t MemPool::growthFor(std::size_t requested) {
  const std::size_t bytes = roundTo(requested, kAllocationUnit);
  const std::uint64_t wanted = roundTo(requested, kPoolUnit);
  for (auto& [begin, segment] : segments_) {
    if (const auto at = segment.free.allocate(bytes, kAllocationUnit)) {
      segment.free.release(*at, bytes);
      return 0;
    }
  }
  const bool bounded =
      props_.maxSize != 0 && reserved_ + wanted > roundTo(props_.maxSize, kPoolUnit);
  return device_ == nullptr || bounded ? 0 : wanted;
}

void MemPool::adopt(CUdeviceptr plain) {
  const std::uint64_t bytes = MemoryTable::get().findExact(plain)->bytes;
  MemoryTable::get().remove(plain);
  device_->card.moveCharge(Charge::kPlain, Charge::kPool, bytes);
  addSegment(plain, bytes);
}

void MemPool::addRegion(CUdeviceptr address, std::size_t requested, std::size_t bytes) {
  Region region;
  region.begin = address;
  region.bytes = bytes;
  region.requested = requested;
  region.kind = RegionKind::kPool;
  region.charge = Charge::kPool;
  region.device = device_;
  region.pool = this;
  region.access = access;
  if (device_ != nullptr) {
    region.poison = Window::get().bits();
    region.poison_base = Window::get().offsetOf(address);
  }
  MemoryTable::get().add(std::move(region));
  ++blocks;
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
}

// A block that this stream has freed, but not reached yet, is free for it by stream order.
CUresult MemPool::reusePending(std::size_t bytes, std::uint64_t stream, CUdeviceptr* out) {
  for (auto free = pending.begin(); free != pending.end(); ++free) {
    if (free->stream != stream || free->bytes != bytes) continue;
    Region* region = MemoryTable::get().findExact(free->address);
    *out = free->address;
    pending.erase(free);
    region->free_token = 0;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult MemPool::allocate(std::size_t requested, std::uint64_t stream, CUdeviceptr* out) {
  const std::size_t bytes = roundTo(requested, kAllocationUnit);
  if (bytes == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (reusePending(bytes, stream, out) == CUDA_SUCCESS) {
    MemoryTable::get().findExact(*out)->requested = requested;
    return CUDA_SUCCESS;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (auto& [begin, segment] : segments_) {
      if (segment.free.freeBytes() < bytes) continue;
      const auto at = segment.free.allocate(bytes, kAllocationUnit);
      if (!at) continue;
      Window::get().bits().repoison(Window::get().offsetOf(*at), bytes, Window::get().alias(*at));
      addRegion(*at, requested, bytes);
      *out = *at;
      return CUDA_SUCCESS;
    }
    if (const CUresult grown = grow(bytes); grown != CUDA_SUCCESS) return grown;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

void MemPool::release(Region& region, std::uint64_t stream) {
  const CUdeviceptr address = region.begin;
  const std::uint64_t bytes = region.bytes;
  PoolSegment* segment = segmentOf(address);
  MemoryTable::get().remove(address);
  // Large parts are returned to the host, so that laying poison over them again costs nothing.
  if (bytes >= kSmallLimit) Window::get().discard(Window::get().offsetOf(address), bytes);
  segment->free.release(address, bytes);
  if (stream != 0) segment->unseen = stream;
  used_ -= bytes;
  --blocks;
}

void MemPool::noteStream(std::uint64_t stream) {
  for (auto& [begin, segment] : segments_)
    if (stream == 0 || segment.unseen == stream) segment.unseen = 0;
}

void MemPool::trim(std::uint64_t keep, TrimScope scope) {
  for (auto at = segments_.begin(); at != segments_.end() && reserved_ > keep;) {
    auto& [begin, segment] = *at;
    if (!segment.free.wholeFree() || (scope == TrimScope::kSeen && segment.unseen != 0)) {
      ++at;
      continue;
    }
    if (device_ == nullptr) {
      Window::get().bits().markTouched(Window::get().offsetOf(begin), segment.bytes);
      Window::get().closeToHost(begin, segment.bytes);
    } else if (segment.block != 0) {
      device_->card.dropBlock(segment.block);
    } else {
      device_->card.refund(Charge::kPool, segment.bytes);
    }
    releaseAddresses(begin, segment.bytes);
    reserved_ -= segment.bytes;
    at = segments_.erase(at);
  }
}

CUresult MemPool::setAccess(const CUmemAccessDesc& wanted) {
  if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = findDevice(wanted.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
      wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Access of the pool's own device cannot be removed.
  if (device == device_ && wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (device_ != nullptr && device != device_ && device->profile != device_->profile) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  access[device->ordinal] = static_cast<std::uint8_t>(wanted.flags);
  for (auto& [begin, region] : MemoryTable::get().all()) {
    if (region.pool == this) region.access = access;
  }
  MemoryTable::get().moveEpoch();
  return CUDA_SUCCESS;
}

CUresult MemPool::getAttribute(CUmemPool_attribute attribute, void* value) const {
  auto* number = static_cast<cuuint64_t*>(value);
  auto* flag = static_cast<int*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *flag = reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *number = release_threshold;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *number = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *number = reserved_high_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *number = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *number = used_high_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
      *flag = props_.allocType;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
      *flag = props_.handleTypes;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_LOCATION_ID:
      *flag = props_.location.id;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_LOCATION_TYPE:
      *flag = props_.location.type;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
      *number = props_.maxSize;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
      *flag = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemPool::setAttribute(CUmemPool_attribute attribute, const void* value) {
  const cuuint64_t number = *static_cast<const cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
          *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      release_threshold = number;
      return CUDA_SUCCESS;
    // High-water marks can only be reset.
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (number != 0) return CUDA_ERROR_INVALID_VALUE;
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (number != 0) return CUDA_ERROR_INVALID_VALUE;
      used_high_ = used_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

MemPool* findPool(CUmemoryPool handle) {
  auto* pool = reinterpret_cast<MemPool*>(handle);
  return livePools().contains(pool) && !pool->destroyed ? pool : nullptr;
}

MemPool* defaultPool(Device& device) {
  if (device.default_pool == nullptr) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device.ordinal;
    device.default_pool = new MemPool(&device, props);
    device.default_pool->is_default = true;
    if (device.current_pool.load() == nullptr) device.current_pool = device.default_pool;
  }
  return device.default_pool;
}

MemPool* currentPool(Device& device) {
  defaultPool(device);
  return device.current_pool.load();
}

void buryPool(MemPool* pool) {
  if (!pool->destroyed || pool->blocks != 0) return;
  pool->trim(0, TrimScope::kAll);
  livePools().erase(pool);
  delete pool;
}

void trimAllPools(Device& device) {
  for (MemPool* pool : livePools()) {
    if (pool->device() == &device) pool->trim(0, TrimScope::kAll);
  }
  trimGraphMemory(device);
}

void trimPoolsAfterSynchronize(Device& device, std::uint64_t stream) {
  const std::unique_lock guard(MemoryTable::get().mutex);
  for (MemPool* pool : livePools()) {
    if (pool->device() != &device) continue;
    pool->noteStream(stream);
    pool->trim(pool->release_threshold, TrimScope::kSeen);
  }
}

}  // namespace divvy::simgpu
