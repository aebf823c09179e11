// Device memory of this process: its addresses, its bytes, its access rights.
//
// The host cannot dereference a device address, except of managed memory. The bytes are at the same
// offset in a second window. Kernels and copies use translate().
#pragma once

#include "abi/cuda_types.h"

#include <cstddef>
#include <cstdint>

#include "card/card.h"
#include "cuda/context/context.h"

namespace divvy::simgpu {

// kOverwrite: every byte of the range is written at once and none read before, so that fresh memory
// need not be given its pattern first.
enum class Access : int { kRead = 1, kWrite = 2, kReadWrite = 3, kOverwrite = 6 };

// Returns where the `bytes` bytes at `address` are in host memory, for work in `context`. `copy`:
// for a copy, which may touch peers without peer access. The result is contiguous over the whole
// length, also across mappings; pinned host memory is returned unchanged. Bytes that were never
// written since allocation hold kPoison. Managed pages move to the device.
// CUDA_ERROR_ILLEGAL_ADDRESS: some byte is not mapped, or not with this access. Thread-safe; the
// pointer stays valid until the range is freed or unmapped.
CUresult translate(Context& context, CUdeviceptr address, std::size_t bytes, Access access,
                   std::byte** host, bool copy = false);

// The result of translate() now, without any effect on the memory.
CUresult checkAccess(Context& context, CUdeviceptr address, std::size_t bytes, Access access,
                     bool copy = false);

// Returns how many bytes of the range a device reaches over the host link: pinned memory and mapped
// memory of the host. Counts up to the first unmapped byte. Managed memory moves to the device
// instead.
std::uint64_t bytesOnHost(CUdeviceptr address, std::size_t bytes);

inline constexpr unsigned char kPoison = 0xd5;

// A range around `address` in which translation is a constant, for callers that cache (the kernel
// interpreter). Valid while memoryEpoch() is unchanged: any free, unmap or access change moves it.
struct RangeView {
  CUdeviceptr begin;
  CUdeviceptr end;
  std::byte* host;  // of begin
  bool writable;
};
CUresult lookupRange(Context& context, CUdeviceptr address, RangeView* out);
std::uint64_t memoryEpoch();

// The kind of a pointer, for copies that infer direction and for pointer attributes.
enum class PointerKind : int { kUnknown, kPinnedHost, kDevice, kManaged };
struct PointerView {
  PointerKind kind = PointerKind::kUnknown;
  Device* device = nullptr;  // where the memory lives; for pinned host memory that of its context
  CUdeviceptr base = 0;      // of the allocation or mapping
  std::size_t bytes = 0;     // as asked for
  Charge charge = Charge::kPlain;
  CUcontext context = nullptr;
  std::uint64_t buffer_id = 0;  // unique over the life of the process
};
PointerView describePointer(CUdeviceptr address);

// Device memory owned by a context, for parts of the driver that need some (module globals:
// kModule). Charged to the card, and poisoned by default. CUDA_ERROR_OUT_OF_MEMORY or CUDA_SUCCESS.
CUresult allocateOwned(Context& context, Charge kind, std::size_t bytes, CUdeviceptr* out);
CUresult freeOwned(CUdeviceptr address);

// Charges or refunds bytes that have no address (module code, device heaps).
CUresult chargeOpaque(Context& context, Charge kind, std::size_t bytes);
void refundOpaque(Context& context, Charge kind, std::size_t bytes);

}  // namespace divvy::simgpu
