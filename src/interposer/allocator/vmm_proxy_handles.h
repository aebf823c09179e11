// Memory that the application creates by cuMemCreate, maps itself, and that can be swapped. The
// application has proxy handles. Behind the addresses that it mapped are views of a block of
// chunks.
#pragma once

#include "allocator/swappable_allocator.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// A range of addresses that the application reserved. It allows mappings to be checked while no
// memory can be mapped.
struct Reservation {
  std::atomic<std::uint32_t> taken;
  std::uint64_t address;
  std::uint64_t bytes;
};

// One per process, in static storage. Any thread, inside a hook (DriverCallScope). Answers as the
// driver would for native memory.
class VmmProxyHandles {
 public:
  // Returns whether there was such memory at some time.
  bool any() const { return any_.load(std::memory_order_acquire); }
  // Returns whether a view lies within the range, at least in part.
  bool touches(std::uint64_t address, std::uint64_t bytes) const;
  // Returns the number of the view that covers the address; AppMappings::kNone if there is none.
  std::uint32_t viewAt(std::uint64_t address) const;

  // Creates memory on a device with swapped memory. Returns kNative if chunks cannot replace it,
  // with the reason in *why.
  HookOutcome create(unsigned device, std::uint64_t bytes, const CUmemAllocationProp& prop,
                     CUmemGenericAllocationHandle* handle, PinReason* why, CUresult* result);
  static CUresult properties(CUmemGenericAllocationHandle token, CUmemAllocationProp* prop);

  CUresult map(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle token);
  // Unmaps a range with views, and with native mappings if there are any.
  CUresult unmap(CUdeviceptr address, std::uint64_t bytes);
  CUresult setAccess(CUdeviceptr address, std::uint64_t bytes, const CUmemAccessDesc* descs,
                     std::size_t count);
  // Returns the access of a view.
  static CUresult getAccess(std::uint32_t view, const CUmemLocation& location,
                            unsigned long long* flags);
  static CUmemGenericAllocationHandle retain(std::uint32_t view);

  // Pins the memory and returns the driver's own handle for it in *handle. On failure *handle is 0,
  // and the result answers the call that was given the token.
  static CUresult expose(CUmemGenericAllocationHandle token, PinReason reason,
                         CUmemGenericAllocationHandle* handle);
  CUresult exportTo(void* out, CUmemGenericAllocationHandle token, CUmemAllocationHandleType type,
                    unsigned long long flags);
  // Returns the token for memory of this library that the driver imported as `handle`; 0 for other
  // memory.
  CUmemGenericAllocationHandle imported(CUmemGenericAllocationHandle handle);

  // Note the effects of cuMemAddressReserve and cuMemAddressFree.
  void reserved(std::uint64_t address, std::uint64_t bytes);
  std::uint64_t unreserved(std::uint64_t address);  // returns its bytes; 0: unknown
  // Finds the reservation that holds an address. Returns false, without output, if there is none.
  bool reservationOf(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes);

  void forgetAfterFork();

 private:
  struct Piece;

  bool pieceAt(std::uint64_t at, std::uint64_t end, Piece* out) const;
  template <typename Visit>
  CUresult forEachPiece(std::uint64_t address, std::uint64_t bytes, Visit visit) const;
  CUresult mapBlock(std::uint32_t block, CUdeviceptr address, std::uint64_t bytes);
  static CUresult show(std::uint32_t view);
  static CUresult hide(std::uint32_t view);
  static void forget(std::uint32_t view);
  static CUresult open(std::uint32_t view, const CUmemAccessDesc* descs, std::size_t count);

  std::atomic<bool> any_{false};
  Slab<Reservation> reservations_;
  AddressMap exported_;  // by the driver's handle: `bytes` is the token without its tag
};

}  // namespace divvy::interposer
