// The order in which NVML numbers devices, and CUDA with CUDA_DEVICE_ORDER=PCI_BUS_ID.
#pragma once

#include <cstdint>

#include "ledger/layout.h"

namespace divvy::interposer {

inline constexpr std::uint64_t kNoAddress = UINT64_MAX;

// A number that sorts as the PCI addresses do: "00000000:3B:00.0", "0000:3b:00.0" and "3B:00.0" are
// the same. kNoAddress for anything else, so that it sorts last. Reads at most `size` characters.
std::uint64_t pciOrder(const char* bus_id, unsigned size);

// The indices of the first `count` (at most kMaxDevices) devices of a control page in PCI order;
// those with one address, or none, in the page's.
void sortByPci(const ledger::DeviceControl* devices, unsigned count, std::uint8_t* order);

}  // namespace divvy::interposer
