// Which of the driver's devices are the tenant's.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "ledger/layout.h"

namespace divvy::interposer {

// A ledger device index, or this.
inline constexpr unsigned kNoDevice = 255;

// The 36 characters of a UUID ("0123abcd-..."), lower case, unterminated.
void formatUuid(const CUuuid& uuid, char* out36);

// Driver devices (CUdevice, as cuDeviceGet gives them) and the tenant's ledger devices, matched by
// UUID. Immutable.
struct DeviceTable {
  static constexpr int kMaxDriverDevices = 64;

  // Ledger index of a CUdevice; kNoDevice if it is not the tenant's. Any value is safe.
  unsigned ledgerIndex(CUdevice device) const {
    return device >= 0 && device < kMaxDriverDevices ? ledger_index[device] : kNoDevice;
  }

  // The ledger device of every visible device, where that is one and the same; else kNoDevice.
  unsigned only = kNoDevice;
  int count = 0;                        // the tenant's devices ...
  int ordinal[kMaxDriverDevices] = {};  // ... as ordinals of the driver, in its order
  std::uint8_t ledger_index[kMaxDriverDevices] = {};
};

class DeviceMap {
 public:
  // The table, made on first use by asking the driver. nullptr while the driver is not initialised
  // (or no memory can be mapped). Needs a ready tenant. Any thread.
  const DeviceTable* get() {
    const DeviceTable* table = table_.load(std::memory_order_acquire);
    return table != nullptr ? table : build();
  }

  // The table if it has been made.
  const DeviceTable* known() const { return table_.load(std::memory_order_acquire); }

 private:
  const DeviceTable* build();

  std::atomic<const DeviceTable*> table_{nullptr};
};

}  // namespace divvy::interposer
