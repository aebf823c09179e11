// The application's own mappings of memory that can be swapped. A block has an address of its own
// beside them, which then only this library uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "allocator/vmm_backing.h"
#include "support/slab.h"

namespace divvy::interposer {

// A mapping that the application made: the beginning of a block, at `address`. Record of a Slab.
struct AppMapping {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> going;  // being unmapped; no memory is mapped there any more
  std::uint32_t block;               // number of its SwapBlock
  std::uint32_t slot;  // index in SwapBlock::views; kMaxViews: no slot, see AppMappings
  std::uint64_t address;
  std::atomic<std::uint64_t> bytes;  // 0: not found by lookups
  // By the driver's numbers of devices: the application's access, and kTold.
  std::atomic<std::uint8_t> access[BackingTerms::kMaxAccess];

  static constexpr std::uint8_t kTold = 0x80;

  bool covers(std::uint64_t at) const {
    const std::uint64_t length = bytes.load(std::memory_order_acquire);
    return at >= address && at - address < length;
  }
};

// One per process, in static storage. Any thread. The owner of a chunk keeps the views true for
// which its block has a slot, see settle(). A view without a slot belongs to the driver alone: its
// block is pinned, and no part of it is ever mapped again.
class AppMappings {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Returns a view without slot and access, which no lookup finds. Returns kNone if there is no
  // memory.
  std::uint32_t begin(std::uint32_t block, std::uint64_t address, std::uint64_t bytes);
  // Makes the view available to lookups and to settle(). Returns false if the block has no free
  // slot.
  bool publish(std::uint32_t view);
  // Removes the view from its block, so that no further owner of a chunk finds it. The view must be
  // going and mapped nowhere. A thread that found it earlier owns a chunk of the block. After such
  // threads are done, end() frees the record.
  void withdraw(std::uint32_t view);
  void end(std::uint32_t view);

  // Returns the block's view that covers an address; kNone if there is none.
  std::uint32_t find(std::uint32_t block, std::uint64_t address);
  AppMapping& at(std::uint32_t view) { return views_.at(view); }

  // ---- for the owner of a chunk (in a busy state) that has device memory
  // Maps and unmaps the chunk as its block's views are now. `anew`: the devices with access have
  // changed too. Returns the driver's error.
  CUresult settle(Chunk& chunk, bool anew);
  // Unmaps the chunk from all views. After an error it may still be mapped in some.
  CUresult close(Chunk& chunk);

  void forgetAfterFork() { views_.forgetAfterFork(); }

 private:
  static CUresult open(const AppMapping& view, std::uint64_t address, std::uint64_t bytes);

  Slab<AppMapping> views_;
};

}  // namespace divvy::interposer
