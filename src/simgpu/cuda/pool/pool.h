// Stream-ordered memory pools, and the memory of graphs' allocation nodes.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "abi/cuda_types.h"
#include "cuda/context/exec.h"
#include "cuda/memory/address_space.h"
#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

// Pools grow and shrink in units of this, as cuMemPoolGetAttribute of the real driver reports.
inline constexpr std::uint64_t kPoolUnit = 32ULL << 20;

// A piece of the card (or of the host) that a pool holds and gives out in parts.
struct PoolSegment {
  std::uint64_t bytes;
  AddressSpace free;
  std::uint64_t block = 0;  // shared block of the card, once a pointer into it was exported
  // A stream in which part of it was freed without a wait since then; 0: none.
  std::uint64_t unseen = 0;
};

// Driver 580 returns only memory that it knows to be free. It detects that at a wait for the stream
// in which it was freed, for an event recorded there, or for the context. Queries, other streams
// and events of the whole context are not enough (tried on an H100:
// bench/results/2026-11-26-h100.md).
enum class TrimScope { kSeen, kAll };

// A block with a free that is queued in a stream: later work in that stream may have it at once.
struct PendingFree {
  CUdeviceptr address;
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t token;
};

// All members under MemoryTable::mutex. A CUmemoryPool points to one; destroyed pools live on until
// their last block is freed.
class MemPool {
 public:
  MemPool(Device* device, const CUmemPoolProps& props);

  CUmemoryPool handle() { return reinterpret_cast<CUmemoryPool>(this); }
  Device* device() const { return device_; }  // nullptr: host memory
  const CUmemPoolProps& props() const { return props_; }

  CUresult allocate(std::size_t requested, std::uint64_t stream, CUdeviceptr* out);
  // How much the pool would have to grow by for such an allocation; 0: not at all, or it may not.
  std::uint64_t growthFor(std::size_t requested);
  // Makes plain memory of this process, as large as growthFor() returned, a segment of the pool.
  void adopt(CUdeviceptr plain);
  // Gives a block back to the pool. The program no longer has it; the card keeps it charged.
  // `stream`: the stream of the free; 0: the caller waited.
  void release(Region& region, std::uint64_t stream);
  // Returns whole unused segments until no more than `keep` bytes are reserved.
  void trim(std::uint64_t keep, TrimScope scope);
  // A thread waited for that stream; 0: for all of the context.
  void noteStream(std::uint64_t stream);
  CUresult setAccess(const CUmemAccessDesc& access);

  CUresult getAttribute(CUmemPool_attribute attribute, void* value) const;
  CUresult setAttribute(CUmemPool_attribute attribute, const void* value);

  bool is_default = false;
  bool imported = false;
  bool destroyed = false;
  std::uint64_t blocks = 0;  // in use
  std::uint64_t release_threshold = 0;
  std::array<std::uint8_t, kMaxCards> access{};
  std::list<PendingFree> pending;
  std::uint32_t export_index = 0;       // in the window's export table; 0: not exported
  std::shared_ptr<void> import_source;  // of an imported pool

  // The segment that holds an address, nullptr if none.
  PoolSegment* segmentOf(CUdeviceptr address);

 private:
  CUresult reusePending(std::size_t bytes, std::uint64_t stream, CUdeviceptr* out);
  CUresult grow(std::size_t bytes);
  bool chargeSegment(std::uint64_t bytes);
  void addSegment(CUdeviceptr begin, std::uint64_t bytes);
  void addRegion(CUdeviceptr address, std::size_t requested, std::size_t bytes);

  Device* device_;
  CUmemPoolProps props_;
  std::map<CUdeviceptr, PoolSegment> segments_;
  std::uint64_t reserved_ = 0;
  std::uint64_t reserved_high_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t used_high_ = 0;
  int reuse_[3] = {1, 1, 1};
};

// Any live pool by its handle, nullptr for others.
MemPool* findPool(CUmemoryPool handle);
// A device's own pool, made on first use.
MemPool* defaultPool(Device& device);
MemPool* currentPool(Device& device);
// Removes a destroyed pool without blocks. Under the table's mutex.
void buryPool(MemPool* pool);
// Trims all pools of this process on the device to nothing unused: before memory is refused.
void trimAllPools(Device& device);

CUresult allocateFromPool(Context& context, MemPool* pool, std::size_t bytes, StreamArgument stream,
                          CUdeviceptr* out);
// cuMemFreeAsync of any address that can be freed.
CUresult freeInStream(Context& context, CUdeviceptr address, StreamArgument stream);
// cuMemFree of stream-ordered or graph memory, work on the device being complete.
CUresult freePooled(CUdeviceptr address);

}  // namespace divvy::simgpu
