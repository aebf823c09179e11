// The bytes of the two files through which a tenant's memory is swapped. In <dir>/residency the
// agent writes how much each process may have on each device. In <dir>/swap the processes report
// their use. Since minor 4 of the layout, and only where a device is oversubscribed.
//
// There is one order, and it is a level: `allowed`. A process that has more swaps out until it
// fits. A process that has less swaps in the memory that it needs, as far as it fits. Its report is
// the acknowledgement, so both sides can be killed and restarted at any instant.
//
// Rules of the format as in layout.h. All durations are nanoseconds of the host, all sizes bytes.
// Like the work page, <dir>/swap is written by the tenant and hostile for the agent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger/layout.h"

namespace divvy::ledger {

inline constexpr std::uint64_t kResidencyMagic = 0x5345525956564944;  // "DIVVYRES" in the file
inline constexpr std::uint64_t kSwapMagic = 0x5057535956564944;       // "DIVVYSWP" in the file

// Bits of ResidencyLine::flags.
// Memory beyond `allowed` may be used at the host.
inline constexpr std::uint32_t kMayHostMap = 1u << 0;
inline constexpr std::uint32_t kReclaimed = 1u << 1;  // swapped out because it was idle for long
inline constexpr std::uint32_t kYield = 1u << 2;      // swapped out for a tenant of a higher class
// Other tenants lack memory that it has; it may be taken at any time.
inline constexpr std::uint32_t kMayLeave = 1u << 3;

// Why a process has the memory that it has, for display.
enum class ResidencyReason : std::uint32_t {
  kFits = 0,         // all that it has is allowed
  kOthersTurn = 1,   // another tenant has the device's memory now
  kIdle = 2,         // it was idle, and other tenants needed the memory
  kHigherClass = 3,  // a higher class needs the memory
  kUnused = 4,       // idle for as long as its class allows
  kShort = 5,        // it needs more than the device can ever give it
};

// Order to the process in the slot with the same index. Written in this order: the values, `seq`
// (release), `owner` (release), the header's bell, then a futex wake. `owner` is 0 while the line
// passes to another process.
struct alignas(64) ResidencyLine {
  // 1 + the slot's generation that the order is for; else there are no orders yet.
  std::uint64_t owner;
  std::uint64_t seq;           // grows with each change
  std::uint64_t host_allowed;  // bytes that it may keep in host memory
  std::uint32_t flags;         // kMayHostMap ...
  std::uint32_t reason;        // ResidencyReason
  std::uint64_t reserved_a[4];
  // Bytes on the device now, pinned included. A process that takes memory first adds it to
  // SwapDevice, then reads this word again, with a full fence between, and gives back any excess.
  alignas(64) std::uint64_t allowed[kMaxDevices];
  // Bytes that it can be given at present; a need beyond that cannot be met.
  std::uint64_t most[kMaxDevices];
  std::uint64_t reserved_b[8];
};

struct alignas(64) ResidencyHeader {
  Identification id;
  char tenant_id[32];
  // Proves that two processes that exchange memory belong to this tenant or its pod; written once.
  // Zero: any process that has a block's name may have its memory.
  std::uint64_t ipc_key[2];
  char reserved_a[16];
  alignas(64) std::uint32_t bell;  // futex: grows, and is woken, with each change of a line
  char reserved_b[124];
};

struct ResidencyPage {
  ResidencyHeader header;
  ResidencyLine lines[kMaxSlots];
};

// Bits of SwapLine::state.
// All memory that it may touch is on the device.
inline constexpr std::uint32_t kSwapReady = 1u << 0;
inline constexpr std::uint32_t kSwapClosed = 1u << 1;  // its memory gate is closed
inline constexpr std::uint32_t kSwapMoving = 1u << 2;
inline constexpr std::uint32_t kSwapWanted = 1u << 3;  // a thread waits for memory
inline constexpr std::uint32_t kSwapCapturing = 1u << 4;
inline constexpr std::uint32_t kSwapHostMapped = 1u << 5;  // some memory is used at the host
// The agent is silent; the process took the memory that it could get.
inline constexpr std::uint32_t kSwapSelfHelp = 1u << 6;
inline constexpr std::uint32_t kSwapPressed = 1u << 7;  // an allocation waits for the device
// Its driver can map host memory at a device address. Without this bit no process is given
// kMayHostMap.
inline constexpr std::uint32_t kSwapMapsHost = 1u << 8;

// Why the last order could not be obeyed. It is tried again.
enum class SwapRefusal : std::uint32_t {
  kNone = 0,
  kCapturing = 1,
  kNotDrained = 2,
  kNoHostMemory = 3,
  kNoDeviceMemory = 4,
  kDriver = 5,
};

// Memory of one process on one device.
struct alignas(64) SwapDevice {
  std::uint64_t swappable;  // allocated memory that can be swapped
  // The part of `swappable` that is on the device; counted from before it is taken until after it
  // has been given back.
  std::uint64_t mapped;
  std::uint64_t pinned;     // on the device until it is freed
  std::uint64_t want;       // requested memory that cannot be swapped and is not there yet
  std::uint64_t out_bytes;  // only grows, as do the fields that follow
  std::uint64_t in_bytes;
  std::uint64_t out_ns;  // time with at least one copy in flight in that direction
  std::uint64_t in_ns;
};

// One process: the one in the slot with the same index.
struct alignas(64) SwapLine {
  std::uint64_t owner;  // 1 + the slot's generation; 0: not claimed yet. Written last when claimed
  std::uint32_t state;  // kSwap* bits
  std::uint32_t refusal;   // SwapRefusal
  std::uint64_t seen_seq;  // of the last order acted upon
  std::uint64_t changed;   // grows with each change of the fields above
  std::uint64_t host_bytes;
  std::uint64_t host_want;
  std::uint64_t pin_reasons;  // bits by PinReason: why memory is pinned
  std::uint64_t last_need;    // CLOCK_MONOTONIC, when a thread last waited for memory
  // Only grow.
  alignas(64) std::uint64_t chunks_out;
  std::uint64_t chunks_in;
  std::uint64_t aborts;
  std::uint64_t drains;
  std::uint64_t drain_ns;
  std::uint64_t pressure_waits;
  std::uint64_t self_helped;        // bytes taken beyond `allowed` while the agent was silent
  std::uint64_t pressure_refusals;  // as SlotCounter::kDeviceFull, of this process alone
  SwapDevice device[kMaxDevices];
};

struct alignas(64) SwapHeader {
  Identification id;
  char tenant_id[32];
  char reserved[160];
};

struct SwapPage {
  SwapHeader header;
  SwapLine lines[kMaxSlots];
};

static_assert(sizeof(ResidencyLine) == 384 && offsetof(ResidencyLine, allowed) == 64);
static_assert(offsetof(ResidencyLine, most) == 192);
static_assert(offsetof(ResidencyHeader, ipc_key) == offsetof(ResidencyHeader, tenant_id) + 32);
static_assert(sizeof(ResidencyHeader) == 256 && offsetof(ResidencyHeader, bell) == 128);
static_assert(sizeof(ResidencyPage) == 256 + 4096 * 384);
static_assert(sizeof(SwapDevice) == 64);
static_assert(sizeof(SwapLine) == 1152 && offsetof(SwapLine, device) == 128);
static_assert(offsetof(SwapLine, chunks_out) == 64);
static_assert(sizeof(SwapHeader) == 256);
static_assert(sizeof(SwapPage) == 256 + 4096 * 1152);

// Bytes of the files that must be backed by storage while `slots` are ready.
constexpr std::size_t residencyBytes(unsigned slots) {
  return sizeof(ResidencyHeader) + std::size_t{slots} * sizeof(ResidencyLine);
}
constexpr std::size_t swapBytes(unsigned slots) {
  return sizeof(SwapHeader) + std::size_t{slots} * sizeof(SwapLine);
}

}  // namespace divvy::ledger
