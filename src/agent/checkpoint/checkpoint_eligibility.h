// Whether a tenant can be taken off its devices with everything that it has, by the driver's
// checkpoint, and what bringing it back takes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::agent {

// Why not. Each is a reason that people are shown.
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
  kBusy,     // its work did not end within the time that a lock has
  kRefused,  // the driver did not take it
};

// "it uses managed memory"; empty for kNone.
std::string barWords(Ineligibility bar);

// On one device.
struct DeviceFootprint {
  Bytes used;       // by the tenant, contexts and what is swapped out included
  Bytes resident;   // of that, on the device
  Bytes context;    // what one costs
  Bytes guarantee;  // of the tenant
  Bytes room;       // what tenants may have there at once
  Bytes physical;
};

// All that is known before the driver is asked.
struct CheckpointFacts {
  bool on = false;
  bool arbitrated = true;  // its compute is enforced by us
  unsigned driver = 0;     // branch: 570; 0: not known
  unsigned processes = 0;  // that use the devices
  bool foreign = false;    // one is another user's, or uses the devices without our libraries
  std::uint64_t pins = 0;  // why memory of it is pinned: SwapLine::pin_reasons
  Bytes host_available;
  std::vector<DeviceFootprint> sites;
};

inline constexpr unsigned kFirstCheckpointDriver = 570;
// From here on memory that processes share by IPC can be taken along.
inline constexpr unsigned kFirstSharedDriver = 610;

// 570 of "570.86.15", 0 of what is no version.
unsigned driverBranch(std::string_view version);

Ineligibility barOf(const CheckpointFacts& facts);

// How a tenant stands with all that, for the arbiter and for people.
struct CheckpointStatus {
  Ineligibility bar = Ineligibility::kOff;
  bool parked = false;      // nothing of it is on any device, or is until it is back
  bool may_return = true;   // of one that is parked
  std::uint32_t round = 0;  // counts its ways there and back
  std::string lost;         // what became of a process of it; empty: none was lost
  friend bool operator==(const CheckpointStatus&, const CheckpointStatus&) = default;
};

// What has to be free on a device, and the tenant's, before it is restored there: all that it uses,
// a context more, and 1 GiB or a twentieth of it, whichever is more. A restore that runs out of
// memory loses the process. On cards below 32 GiB the GiB is 1/32 of the card.
Bytes restoreNeeds(const DeviceFootprint& site);

}  // namespace divvy::agent
