// Tenants that leave their devices with all they have, what is pinned too, because what swapping
// takes of them is not enough. One that is parked is to the rest of the law one all of whose memory
// is with the host: it waits in line for what it takes to bring it back, all of it or nothing, and
// has that for good (`reserved`) once the book has it.
#pragma once

#include <memory>
#include <vector>

#include "policy/resident.h"

namespace divvy::arbiter {

// Whether it may be parked for somebody: its own class, or one above, needs memory; a guarantee is
// called back from anybody.
bool mayPark(const Resident& from, const Resident& to, bool guarantee);
// What is kept by floors on a device of those who may be parked for somebody.
std::uint64_t parkableFor(const std::vector<std::unique_ptr<Resident>>& residents,
                          const Resident& to, unsigned device);

// All that it has is to go, on all its devices.
void beginParking(Resident* resident);
// Its terms said that it was parked, or is no more.
void changeParked(Resident* resident, Nanos now);
// In place of what its lines say, which nobody writes now.
void sayParked(const Resident& resident, ResidencyReport* stay);
// All that it needs, or nothing, and nothing before it may come back.
void settleParked(Resident* resident);
void noteReserved(Resident* resident);

}  // namespace divvy::arbiter
