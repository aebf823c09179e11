// Where the application sees memory that it maps itself and that can be swapped: beside the address
// of a block of ours, which then only we use.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "allocator/vmm_backing.h"
#include "support/slab.h"

namespace divvy::interposer {

// One mapping of the application's: a block's beginning, at `address`. Records of a Slab.
struct AppMapping {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> going;  // it is being unmapped; its memory is mapped there no more
  std::uint32_t block;               // number of its SwapBlock
  std::uint32_t slot;                // of SwapBlock::views; kMaxViews: none, see Views
  std::uint64_t address;
  std::atomic<std::uint64_t> bytes;  // 0: nobody finds it
  // By the driver's numbers of devices: what the application said, and kTold.
  std::atomic<std::uint8_t> access[BackingTerms::kMaxAccess];

  static constexpr std::uint8_t kTold = 0x80;

  bool covers(std::uint64_t at) const {
    const std::uint64_t length = bytes.load(std::memory_order_acquire);
    return at >= address && at - address < length;
  }
};

// One per process, in static storage; any thread. The views of a block that it has a slot for are
// kept true by whoever owns a chunk of it (Views::settle); one that there is no slot for is the
// driver's alone: the block is pinned, and nothing of it is ever mapped anew.
class AppMappings {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // A view with no slot and no access, which nobody finds; kNone: no memory.
  std::uint32_t begin(std::uint32_t block, std::uint64_t address, std::uint64_t bytes);
  // From here on it is found, and mapped by whoever settles a chunk. False: the block has no slot.
  bool publish(std::uint32_t view);
  // The reverse, of a view that is going and mapped nowhere: nobody learns of it from its block any
  // more. Who learned of it before has a chunk of the block in his hands; then end().
  void withdraw(std::uint32_t view);
  void end(std::uint32_t view);

  // The view of a block that covers an address, or kNone.
  std::uint32_t find(std::uint32_t block, std::uint64_t address);
  AppMapping& at(std::uint32_t view) { return views_.at(view); }

  // ---- for who owns a chunk (in a busy state) that has device memory
  // Maps and unmaps it as the views of its block are now. `anew`: who may see it has changed too.
  CUresult settle(Chunk& chunk, bool anew);
  // It is seen nowhere. If that fails it is seen in some places.
  CUresult close(Chunk& chunk);

  void forgetAfterFork() { views_.forgetAfterFork(); }

 private:
  static CUresult open(const AppMapping& view, std::uint64_t address, std::uint64_t bytes);

  Slab<AppMapping> views_;
};

}  // namespace divvy::interposer
