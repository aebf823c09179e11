// Faults inside a tenant's process that no call reports: counted by code in the report page, the
// latest ones kept in a ring.
#pragma once

#include <cstdint>

namespace divvy::ledger {

// Codes below 32 (kFaultKinds). The ledger's own come first; kFirstForeign and above belong to the
// interposer. Values are part of the layout and never change their meaning.
enum class FaultCode : std::uint32_t {
  kNone = 0,
  kSlotsExhausted = 1,    // detail: slots ready; every new process is denied memory
  kSlotLost = 2,          // the agent took our slot for dead; detail: slot
  kOverRelease = 3,       // detail: device, arg: bytes released beyond the reserved ones
  kTotalUnderflow = 4,    // detail: device, arg: bytes missing from the total
  kBadDevice = 5,         // detail: requested device index
  kLaneBusy = 6,          // no lane became free within the bound; detail: device, arg: bytes
  kLaneRetired = 7,       // a lane has used up its sequence numbers; detail: lane
  kContended = 8,         // the total changed too many times in a row; detail: device
  kUnclaimedRelease = 9,  // a process without a slot released; detail: device, arg: bytes
  kNoPrivateMemory = 10,  // the process-local page could not be mapped; detail: errno
  // DIVVY_MEMORY_LIMIT is not a limit and lowers nothing; detail: its first 8 bytes.
  kBadLimit = 11,
  kFirstForeign = 16,
};

}  // namespace divvy::ledger
