// NVML's order of devices, which is also CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID.
#pragma once

#include <cstdint>

#include "ledger/layout.h"

namespace divvy::interposer {

inline constexpr std::uint64_t kNoAddress = UINT64_MAX;

// Returns a number that sorts as PCI addresses do: equal for "00000000:3B:00.0", "0000:3b:00.0" and
// "3B:00.0". Returns kNoAddress for any other text, so that it sorts last. Reads at most `size`
// characters.
std::uint64_t pciOrder(const char* bus_id, unsigned size);

// Writes the indices of the first `count` (at most kMaxDevices) devices of a control page in PCI
// order. Devices with equal addresses, or none, keep the page's order.
void sortByPci(const ledger::DeviceControl* devices, unsigned count, std::uint8_t* order);

}  // namespace divvy::interposer
