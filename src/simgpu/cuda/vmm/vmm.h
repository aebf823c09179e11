// Physical memory made by cuMemCreate, and the addresses reserved for mapping it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

struct ForeignWindow;  // vmm_share.h

// Lives while `handles` or `mappings` count something. Under MemoryTable::mutex.
struct Physical {
  CUmemGenericAllocationHandle handle = 0;
  std::uint64_t bytes = 0;
  Device* device = nullptr;  // nullptr: host memory
  CUmemAllocationProp prop{};
  std::uint64_t offset = 0;                // window offset of the bytes, in the maker's window
  std::uint64_t handles = 0;               // references that cuMemRelease and its like give back
  std::uint64_t mappings = 0;              // by cuMemMap and cuExternalMemoryGetMappedBuffer
  std::uint32_t export_index = 0;          // in the maker's export table; 0: never exported
  std::uint64_t block = 0;                 // of the card; 0: not shared, or host memory
  std::shared_ptr<ForeignWindow> foreign;  // set for memory made by another process
};

struct Reservation {
  std::uint64_t bytes;  // as asked for
  std::uint64_t taken;  // of the address space
};

// All under MemoryTable::mutex, exclusive (find* also shared).
class PhysicalTable {
 public:
  static PhysicalTable& get();

  // Memory of this process; the card is charged already. nullptr: no addresses left.
  std::shared_ptr<Physical> make(Device* device, std::uint64_t bytes,
                                 const CUmemAllocationProp& prop);
  // Memory of another process, with one handle reference.
  std::shared_ptr<Physical> adopt(Physical imported);

  // nullptr: no such handle, or all references to it were given back.
  std::shared_ptr<Physical> find(CUmemGenericAllocationHandle handle) const;
  void retain(const std::shared_ptr<Physical>& physical);
  // Gives back one handle reference, or one mapping; the last of either frees the memory.
  void release(const std::shared_ptr<Physical>& physical);
  void unmapped(const std::shared_ptr<Physical>& physical);

  // The reservation that holds all of the range, or nullptr.
  const Reservation* reservationOf(CUdeviceptr address, std::uint64_t bytes) const;
  std::map<CUdeviceptr, Reservation>& reservations() { return reservations_; }
  const std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>>& all() const {
    return by_handle_;
  }

 private:
  void freeIfUnused(Physical& physical);

  // By handle; mapped memory without handle references stays, for cuMemRetainAllocationHandle.
  std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> by_handle_;
  std::map<CUdeviceptr, Reservation> reservations_;
  CUmemGenericAllocationHandle next_handle_ = 1;
};

// Gives the bytes of memory that this process made back to the host and their offset to the window.
void freePhysicalBytes(const Physical& physical);

// Maps physical memory, from its beginning, to reserved addresses, as a region without access
// rights. Under MemoryTable::mutex, exclusive. False: the operating system refuses.
bool mapPhysical(const std::shared_ptr<Physical>& physical, CUdeviceptr address,
                 std::uint64_t bytes);
// Unmaps it; the region no longer exists afterwards.
void unmapPhysical(Region& region);

// Sizes and addresses of a device's memory are multiples of it. nullptr: of host memory, which all
// devices share, so that the coarsest unit applies.
std::uint64_t vmmGranule(const Device* device);

// Whether memory can be made as described, and where: `device` is nullptr for host memory.
// `normal` is the description as the driver would report it.
CUresult checkAllocation(const CUmemAllocationProp& prop, CUmemAllocationProp* normal,
                         Device** device);

CUresult createPhysical(const CUmemAllocationProp& prop, std::uint64_t bytes,
                        CUmemGenericAllocationHandle* out);
CUresult reserveAddresses(std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr hint,
                          CUdeviceptr* out);
CUresult freeAddresses(CUdeviceptr address, std::uint64_t bytes);
CUresult mapHandle(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle handle);
CUresult unmapRange(CUdeviceptr address, std::uint64_t bytes);

CUresult setAccess(CUdeviceptr address, std::uint64_t bytes, const CUmemAccessDesc* descs,
                   std::size_t count);
CUresult getAccess(const CUmemLocation& location, CUdeviceptr address, unsigned long long* flags);

// The mappings that exactly fill a range, in order; empty if there is a gap, or one sticks out.
// Under MemoryTable::mutex.
std::vector<Region*> mappingsIn(CUdeviceptr address, std::uint64_t bytes);

}  // namespace divvy::simgpu
