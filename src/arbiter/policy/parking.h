// Tenants that leave their devices with all their memory, pinned included, because swapping does
// not free enough. To the rest of the policy, a parked tenant has all its memory at the host. It
// waits in line for all the memory that its return takes, or none. Once all of it is booked, the
// tenant keeps it (`reserved`).
#pragma once

#include <memory>
#include <vector>

#include "policy/resident.h"

namespace divvy::arbiter {

// Returns whether `from` may be parked for `to`. True if the class of `from` is the same or lower.
// Also if `guarantee` is true, because a guarantee is called back from tenants of any class.
bool mayPark(const Resident& from, const Resident& to, bool guarantee);
// Returns the sum of floors on a device of the tenants that may be parked for `to`.
std::uint64_t parkableFor(const std::vector<std::unique_ptr<Resident>>& residents,
                          const Resident& to, unsigned device);

// Plans that all memory of the tenant leaves all its devices.
void beginParking(Resident* resident);
// Handles a change of ResidencyEntitlement::parked.
void changeParked(Resident* resident, Nanos now);
// Fills `stay` for a parked tenant; no process writes its lines.
void reportParked(const Resident& resident, ResidencyReport* stay);
// Sets a parked tenant's target: all that it needs, or nothing while it may not return.
void updateParked(Resident* resident);
// Sets `reserved` once all memory for the tenant's return is allowed.
void noteReserved(Resident* resident);

}  // namespace divvy::arbiter
