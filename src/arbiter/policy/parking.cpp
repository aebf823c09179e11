#include "policy/parking.h"

namespace divvy::arbiter {

bool mayPark(const Resident& from, const Resident& to, bool guarantee) {
  if (&from == &to || !from.terms.parkable || !from.terms.swappable) return false;
  if (from.terms.parked || from.park || !from.known) return false;
  return guarantee || from.terms.cls >= to.terms.cls;
}

std::uint64_t parkableFor(const std::vector<std::unique_ptr<Resident>>& residents,
                          const Resident& to, unsigned device) {
  std::uint64_t sum = 0;
  for (const auto& each : residents) {
    if (each->uses(device) && mayPark(*each, to, false)) sum += each->places[device].floor;
  }
  return sum;
}

void beginParking(Resident* resident) {
  resident->park = true;
  for (Resident::DeviceResidency& place : resident->places) {
    place.lowerTo(0);
    place.floor = 0;
  }
}

void changeParked(Resident* resident, Nanos now) {
  resident->park = resident->reserved = false;
  resident->excess_seen = 0;
  // Memory that was reserved for its return stays with it.
  if (!resident->terms.parked) return;
  for (Resident::DeviceResidency& place : resident->places) place.lowerTo(0);
  resident->granted_at = resident->ready_at = 0;
  resident->taken = true;
  resident->wanted_since = now;
}

void reportParked(const Resident& resident, ResidencyReport* stay) {
  *stay = ResidencyReport();
  stay->wants = true;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d)
    if (resident.uses(d)) stay->at[d].swappable = resident.terms.parked_need[d];
}

void updateParked(Resident* resident) {
  if (!resident->terms.parked) return;
  if (!resident->terms.may_return) resident->reserved = false;
  bool fits = resident->terms.may_return;
  for (const Resident::DeviceResidency& place : resident->places)
    fits = fits && place.target >= place.need();
  if (fits) return;
  resident->reserved = false;
  for (Resident::DeviceResidency& place : resident->places) {
    place.target = place.floor = 0;
    place.lowerTo(0);
  }
}

void noteReserved(Resident* resident) {
  if (!resident->terms.parked || !resident->terms.may_return) return;
  bool complete = resident->isResident();
  for (const Resident::DeviceResidency& place : resident->places)
    complete = complete && place.target == place.need() && place.allowed >= place.need();
  if (complete) resident->reserved = true;
}

}  // namespace divvy::arbiter
