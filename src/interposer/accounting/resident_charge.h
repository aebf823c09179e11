// Room on the device for memory that cannot be swapped.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Reserves `bytes` of the tenant's share as reserveShare does, and waits until what the agent
// allows has room for them: as long as the tenant's terms say (2 s by default), then the driver is
// asked all the same. Threads that must not wait do not. For a device where memory of this tenant
// is swapped.
bool reserveInRoom(unsigned device, std::uint64_t bytes);

}  // namespace divvy::interposer
