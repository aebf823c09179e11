// Which of the driver's devices are the tenant's.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "ledger/layout.h"

namespace divvy::interposer {

// The value for a missing ledger device index: no such device.
inline constexpr unsigned kNoDevice = 255;

// Writes the 36 characters of a UUID ("0123abcd-..."), lower case, unterminated.
void formatUuid(const CUuuid& uuid, char* out36);

// Driver devices (CUdevice, as cuDeviceGet returns them) and the tenant's ledger devices, matched
// by UUID. Immutable.
struct DeviceTable {
  static constexpr int kMaxDriverDevices = 64;

  // Returns the ledger index of a CUdevice; kNoDevice if it is not the tenant's. Any value is safe.
  unsigned ledgerIndex(CUdevice device) const {
    return device >= 0 && device < kMaxDriverDevices ? ledger_index[device] : kNoDevice;
  }

  // The ledger device of all visible devices if it is the same for all; else kNoDevice.
  unsigned only = kNoDevice;
  int count = 0;                        // number of the tenant's devices
  int ordinal[kMaxDriverDevices] = {};  // their ordinals in the driver's order
  std::uint8_t ledger_index[kMaxDriverDevices] = {};
};

class DeviceMap {
 public:
  // Returns the table, made on first use by asking the driver. Returns nullptr before the driver is
  // initialised, or if no memory can be mapped. Needs a ready tenant. Any thread.
  const DeviceTable* get() {
    const DeviceTable* table = table_.load(std::memory_order_acquire);
    return table != nullptr ? table : build();
  }

  // Returns the table if it has been made, else nullptr.
  const DeviceTable* known() const { return table_.load(std::memory_order_acquire); }

 private:
  const DeviceTable* build();

  std::atomic<const DeviceTable*> table_{nullptr};
};

}  // namespace divvy::interposer
