// Why memory cannot leave the device.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Numbers of bits in SwapLine::pin_reasons and SwapBlock::pins; they never change their meaning.
enum class PinReason : std::uint32_t {
  kContext = 0,
  kManaged = 1,
  kArray = 2,
  kPool = 3,   // stream-ordered
  kGraph = 4,  // memory that graphs allocate
  kImported = 5,
  kExported = 6,
  kLegacyIpc = 7,
  kForeignUse = 8,      // RDMA, dma-buf, P2P tokens, SYNC_MEMOPS
  kCollectives = 9,     // NCCL's own buffers
  kNarrowAddress = 10,  // of 32 bits
  kBefore = 11,         // allocated before the device was shared by swapping
  kDriver = 12,         // the driver lacks what it takes
  kMulticast = 13,
  kSparseArray = 14,
  kOtherDevices = 15,  // devices that cannot be given access
  kNoHostMemory = 16,
  kAliased = 17,  // mapped at more addresses than are kept
};

constexpr std::uint32_t bitOf(PinReason reason) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(reason);
}

}  // namespace divvy::interposer
