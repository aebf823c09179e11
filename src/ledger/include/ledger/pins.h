// Why memory cannot leave the device: the bits of SwapLine::pin_reasons, and their names. The only
// list; new reasons are added at the end.
#pragma once

#include <cstdint>

namespace divvy::ledger {

// Bit numbers; their meaning never changes.
enum class PinReason : std::uint32_t {
  kContext = 0,
  kManaged = 1,
  kArray = 2,
  kPool = 3,   // stream-ordered pools
  kGraph = 4,  // memory that graphs allocate
  kImported = 5,
  kExported = 6,
  kLegacyIpc = 7,
  kForeignUse = 8,      // RDMA, dma-buf, P2P tokens, SYNC_MEMOPS
  kCollectives = 9,     // NCCL's own buffers
  kNarrowAddress = 10,  // addresses of 32 bits
  kBefore = 11,         // allocated before the device was shared by swapping
  kDriver = 12,         // the driver lacks functions for swapping
  kMulticast = 13,
  kSparseArray = 14,
  kOtherDevices = 15,  // devices that cannot be given access
  kNoHostMemory = 16,
  kAliased = 17,  // mapped at more addresses than are kept
};

constexpr std::uint32_t bitOf(PinReason reason) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(reason);
}

// For display. Null for a reason that is not in this list: of a newer tenant, or forged.
constexpr const char* pinWords(PinReason reason) {
  switch (reason) {
    case PinReason::kContext:
      return "context";
    case PinReason::kManaged:
      return "managed memory";
    case PinReason::kArray:
      return "arrays";
    case PinReason::kPool:
      return "shared pools";
    case PinReason::kGraph:
      return "graph memory";
    case PinReason::kImported:
      return "imported memory";
    case PinReason::kExported:
      return "exported memory";
    case PinReason::kLegacyIpc:
      return "IPC handles";
    case PinReason::kForeignUse:
      return "use by other devices";
    case PinReason::kCollectives:
      return "collectives";
    case PinReason::kNarrowAddress:
      return "32-bit addresses";
    case PinReason::kBefore:
      return "allocated before";
    case PinReason::kDriver:
      return "the driver lacks the required functions";
    case PinReason::kMulticast:
      return "multicast";
    case PinReason::kSparseArray:
      return "sparse arrays";
    case PinReason::kOtherDevices:
      return "devices without access";
    case PinReason::kNoHostMemory:
      return "no host memory";
    case PinReason::kAliased:
      return "too many addresses";
  }
  return nullptr;
}

}  // namespace divvy::ledger
