// Physical memory made by cuMemCreate: it lives while a handle or a mapping refers to it.
#pragma once

#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// Physical memory of this tenant. Freed, and given back, when `references` gets to 0.
struct PhysicalBlock {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> references;  // handles held by the application, and mappings
  std::uint64_t bytes;
  unsigned device;     // ledger index
  std::uint32_t swap;  // number of its SwapBlock, and 1; 0: it is the driver's, and stays
  // The handle that the application has of a SwapBlock; grows with each that had this record.
  std::uint64_t token;
};

struct Mapping {
  std::atomic<std::uint32_t> taken;
  std::uint32_t block;  // number of the PhysicalBlock
  std::uint32_t next;   // in a chain of mappings that are being unmapped
  std::uint64_t address;
  std::uint64_t bytes;
};

// Memory behind a sparse array. Kept until the array goes: which tile has what is not followed.
struct ArrayHold {
  std::atomic<std::uint32_t> taken;
  std::uint32_t block;
  std::uint64_t array;
};

// Handles imported from other processes and multicast objects are not in the book: whoever made the
// memory pays for it.
class VmmHandles {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Enters memory that cuMemCreate just made: one reference, by `handle`. False: no room.
  bool enter(std::uint64_t handle, unsigned device, std::uint64_t bytes);

  // The same for memory of ours, by a handle of ours: one that the driver never gives. 0: no room.
  std::uint64_t enterSwappable(std::uint32_t swap, unsigned device, std::uint64_t bytes);
  // Of such a handle, while the application has it; kNone: it has no such.
  std::uint32_t find(std::uint64_t handle) const;
  const PhysicalBlock& at(std::uint32_t block) const { return blocks_.at(block); }
  static bool isToken(std::uint64_t handle) { return handle >> kTagShift == kTag; }
  static std::uint32_t numberOfToken(std::uint64_t token) { return token & 0xff'ffff; }
  // The handle again, for memory of ours; 0: nothing refers to it any more.
  std::uint64_t retainToken(std::uint32_t block);
  // Ends a reference.
  void drop(std::uint32_t block);

  // The application got `handle` (again) for memory that is mapped at `address`. Does nothing for
  // memory that is not ours.
  void retain(std::uint64_t handle, std::uint64_t address);

  // Around cuMemRelease: the handle's reference is taken back before the driver is asked (kNone for
  // a foreign handle), and dropped, or put back, after.
  std::uint32_t beginRelease(std::uint64_t handle);
  void endRelease(std::uint32_t block, std::uint64_t handle, bool released);

  // Around cuMemMap: the mapping's reference is added before, so that no release in between frees
  // the block, and taken back if the driver refuses.
  std::uint32_t beginMap(std::uint64_t handle);
  void endMap(std::uint32_t block, std::uint64_t address, std::uint64_t bytes, bool mapped);

  // Around cuMemUnmap of a range that may hold several mappings: the head of their chain.
  std::uint32_t beginUnmap(std::uint64_t address, std::uint64_t bytes);
  void endUnmap(std::uint32_t chain, bool unmapped);

  // After cuMemMapArrayAsync: the array needs the handle's memory from now on.
  void holdForArray(std::uint64_t handle, std::uint64_t array);
  // The array is gone.
  void endArray(std::uint64_t array);

  void forgetAfterFork();

 private:
  // The driver's handles are small numbers or addresses; no address begins like this.
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
