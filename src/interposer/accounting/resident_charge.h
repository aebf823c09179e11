// Room on the device for memory that cannot be swapped.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Reserves `bytes` of the tenant's share as reserveShare() does, then waits until the agent's order
// has room for them. The wait is bounded by the tenant's room_ms (2 s by default); after that the
// driver is asked anyway. Threads that must not wait do not, nor does any thread if no order can
// come. Returns false if the share has no room. For a device on which this tenant's memory is
// swapped.
bool reserveInRoom(unsigned device, std::uint64_t bytes);

}  // namespace divvy::interposer
