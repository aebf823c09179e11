// Physical memory made by cuMemCreate. It lives while a handle or a mapping refers to it.
#pragma once

#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// Physical memory of this tenant. Freed and given back when `references` reaches 0.
struct PhysicalBlock {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> references;  // handles that the application holds, and mappings
  std::uint64_t bytes;
  unsigned device;     // ledger index
  std::uint32_t swap;  // number of its SwapBlock plus 1; 0: native memory, which stays
  // The application's proxy handle of a SwapBlock; differs for each user of this record.
  std::uint64_t token;
};

struct Mapping {
  std::atomic<std::uint32_t> taken;
  std::uint32_t block;  // number of the PhysicalBlock
  std::uint32_t next;   // next in a chain of mappings that are being unmapped
  std::uint64_t address;
  std::uint64_t bytes;
};

// Memory behind a sparse array. Kept until the array ends; tiles are not followed one by one.
struct ArrayHold {
  std::atomic<std::uint32_t> taken;
  std::uint32_t block;
  std::uint64_t array;
};

// The application's handles of memory that this process created. Handles imported from other
// processes and multicast objects are not tracked: the process that made that memory is charged.
class VmmHandles {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Enters memory that cuMemCreate just made, with one reference: `handle`. Returns false if there
  // is no room.
  bool enter(std::uint64_t handle, unsigned device, std::uint64_t bytes);

  // Enters a SwapBlock and returns its proxy handle, which is never a handle of the driver. Returns
  // 0 if there is no room.
  std::uint64_t enterSwappable(std::uint32_t swap, unsigned device, std::uint64_t bytes);
  // Returns the number of the handle's block while the application holds the handle; else kNone.
  std::uint32_t find(std::uint64_t handle) const;
  const PhysicalBlock& at(std::uint32_t block) const { return blocks_.at(block); }
  static bool isToken(std::uint64_t handle) { return handle >> kTagShift == kTag; }
  static std::uint32_t numberOfToken(std::uint64_t token) { return token & 0xff'ffff; }
  // Gives the application the proxy handle once more and returns it. Returns 0 if no reference is
  // left.
  std::uint64_t retainToken(std::uint32_t block);
  // Drops a reference.
  void drop(std::uint32_t block);

  // Notes that the application got `handle` (again) for memory that is mapped at `address`. No
  // effect for memory that is not tracked.
  void retain(std::uint64_t handle, std::uint64_t address);

  // Surround cuMemRelease. beginRelease() takes the handle's reference back before the driver's
  // call and returns the block (kNone for a foreign handle). endRelease() drops that reference, or
  // restores it if the driver refused.
  std::uint32_t beginRelease(std::uint64_t handle);
  void endRelease(std::uint32_t block, std::uint64_t handle, bool released);

  // Surround cuMemMap. beginMap() adds the mapping's reference, so that no release in between frees
  // the block. endMap() drops it if the driver refused.
  std::uint32_t beginMap(std::uint64_t handle);
  void endMap(std::uint32_t block, std::uint64_t address, std::uint64_t bytes, bool mapped);

  // Surround cuMemUnmap of a range that may hold several mappings. beginUnmap() returns the head of
  // their chain.
  std::uint32_t beginUnmap(std::uint64_t address, std::uint64_t bytes);
  void endUnmap(std::uint32_t chain, bool unmapped);

  // To be called after cuMemMapArrayAsync: the array needs the handle's memory from now on.
  void holdForArray(std::uint64_t handle, std::uint64_t array);
  // Drops the array's references, because the array was destroyed.
  void endArray(std::uint64_t array);

  void forgetAfterFork();

 private:
  // The driver's handles are small numbers or addresses; no address begins with this tag.
  static constexpr unsigned kTagShift = 48;
  static constexpr std::uint64_t kTag = 0xd177;

  std::uint32_t findMapped(std::uint64_t address);
  void addHandle(std::uint64_t handle, std::uint32_t block);

  Slab<PhysicalBlock> blocks_;
  Slab<Mapping> mappings_;
  Slab<ArrayHold> array_holds_;
  AddressMap
      handles_;        // by handle: `bytes` is the block's number and, above it, the handle's count
  AddressMap ranges_;  // by start address: `bytes` is the mapping's number
};

}  // namespace divvy::interposer
