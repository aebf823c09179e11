// Whether a whole tenant can be moved off its devices by the driver's checkpoint, and the needs of
// its restore. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::agent {

// Reasons against a checkpoint. Each is shown to users.
enum class Ineligibility : std::uint8_t {
  kNone,
  kOff,
  kDriver,
  kBackend,
  kGuaranteed,
  kNoProcess,
  kForeignProcess,
  kManaged,
  kShared,
  kRegistered,
  kCollectives,
  kFabric,
  kTooLarge,
  kHostMemory,
  kBusy,     // its work did not end within the lock's time
  kRefused,  // the driver refused
};

// "it uses managed memory"; empty for kNone.
std::string barWords(Ineligibility bar);

// A tenant's memory on one device.
struct DeviceFootprint {
  Bytes used;       // used by the tenant, contexts and swapped-out memory included
  Bytes resident;   // part of `used` on the device
  Bytes context;    // cost of one context
  Bytes guarantee;  // the tenant's
  Bytes room;       // memory that tenants may have there at once
  Bytes physical;
};

// The facts that are known before the driver is asked.
struct CheckpointFacts {
  bool on = false;
  bool arbitrated = true;  // the arbiter gates its compute
  unsigned driver = 0;     // branch: 570; 0: unknown
  unsigned processes = 0;  // processes that use the devices
  bool foreign = false;    // a process cannot be controlled, as of another user
  std::uint64_t pins = 0;  // why memory is pinned: SwapLine::pin_reasons
  Bytes host_available;
  std::vector<DeviceFootprint> sites;
};

inline constexpr unsigned kFirstCheckpointDriver = 570;
// From this branch on, memory that processes share by IPC can be checkpointed.
inline constexpr unsigned kFirstSharedDriver = 610;

// 570 for "570.86.15"; 0 for a text that is no version.
unsigned driverBranch(std::string_view version);

Ineligibility barOf(const CheckpointFacts& facts);

// A tenant's checkpoint status, for the arbiter and for users.
struct CheckpointStatus {
  Ineligibility bar = Ineligibility::kOff;
  bool parked = false;      // checkpointed: off all devices until it is back
  bool may_return = true;   // while `parked`
  std::uint32_t round = 0;  // counts checkpoints and restores
  std::string lost;         // loss of a process; empty: none was lost
  friend bool operator==(const CheckpointStatus&, const CheckpointStatus&) = default;
};

// The memory that must be free and reserved for the tenant on a device before its restore: all that
// it uses, one more context, and 1 GiB or a twentieth of its use, whichever is more. A restore that
// runs out of memory loses the process. On devices below 32 GiB the GiB becomes 1/32 of the device.
Bytes restoreNeeds(const DeviceFootprint& site);

}  // namespace divvy::agent
