// Memory that the application makes by cuMemCreate and maps itself, and that can be swapped: what
// it has are handles of ours, and behind the addresses that it mapped are views of a block of
// chunks.
#pragma once

#include "allocator/swappable_allocator.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// Addresses of the application, so that a mapping can be judged while nothing can be mapped.
struct Reservation {
  std::atomic<std::uint32_t> taken;
  std::uint64_t address;
  std::uint64_t bytes;
};

// One per process, in static storage; any thread. All of it from inside a hook (Inside). Answers as
// the driver would of native memory.
class VmmProxyHandles {
 public:
  // There was such memory at some time.
  bool any() const { return any_.load(std::memory_order_acquire); }
  // A view is somewhere in the range.
  bool touches(std::uint64_t address, std::uint64_t bytes) const;
  // A view covers the address: its number, or Views::kNone.
  std::uint32_t viewAt(std::uint64_t address) const;

  // For a device whose memory is swapped. kNative: it is none for this, for the reason in *why.
  HookOutcome create(unsigned device, std::uint64_t bytes, const CUmemAllocationProp& prop,
                     CUmemGenericAllocationHandle* handle, PinReason* why, CUresult* result);
  static CUresult properties(CUmemGenericAllocationHandle token, CUmemAllocationProp* prop);

  CUresult map(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle token);
  // Of a range with views in it, and native mappings as the case may be.
  CUresult unmap(CUdeviceptr address, std::uint64_t bytes);
  CUresult setAccess(CUdeviceptr address, std::uint64_t bytes, const CUmemAccessDesc* descs,
                     std::size_t count);
  // Of a view.
  static CUresult getAccess(std::uint32_t view, const CUmemLocation& location,
                            unsigned long long* flags);
  static CUmemGenericAllocationHandle retain(std::uint32_t view);

  // The driver's own handle for the memory, which stays on the device from now on. Else *handle is
  // 0, and the result what a call that is given the token is to be answered with.
  static CUresult expose(CUmemGenericAllocationHandle token, PinReason reason,
                         CUmemGenericAllocationHandle* handle);
  CUresult exportTo(void* out, CUmemGenericAllocationHandle token, CUmemAllocationHandleType type,
                    unsigned long long flags);
  // The driver imported memory that is ours, as `handle`: the token instead; 0: it is none.
  CUmemGenericAllocationHandle imported(CUmemGenericAllocationHandle handle);

  // Around cuMemAddressReserve and cuMemAddressFree.
  void reserved(std::uint64_t address, std::uint64_t bytes);
  std::uint64_t unreserved(std::uint64_t address);  // its bytes; 0: unknown
  // The reservation that holds an address; false: there is none, and nothing is told.
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
