// One tenant of the residency policy: the memory that it has, may have, and will have.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "arbiter/residency.h"

namespace divvy::arbiter {

struct Resident {
  // On one device; bytes.
  struct DeviceResidency {
    ResidentBytes reported;
    std::uint64_t want = 0;     // the part of said.want that it may take
    std::uint64_t allowed = 0;  // ordered
    std::uint64_t ordered = 0;  // largest order since its last report
    std::uint64_t goal = 0;     // planned; at least `allowed`
    std::uint64_t floor = 0;    // never planned below this, and never taken
    std::uint64_t most = 0;     // memory that the other tenants' floors leave
    std::uint64_t target = 0;   // memory that it would be given now

    std::uint64_t need() const { return reported.pinned + want + reported.swappable; }
    std::uint64_t booked() const { return std::max({allowed, reported.held, ordered}); }
    // Memory that may be taken.
    std::uint64_t spare() const { return goal > floor ? goal - floor : 0; }
    std::uint64_t lack() const { return target > goal ? target - goal : 0; }
    // out(): swappable memory that is planned to be at the host. mayGoOut(): more of it that may
    // follow.
    std::uint64_t out() const { return need() - std::min(need(), std::max(goal, floor)); }
    std::uint64_t mayGoOut() const {
      const std::uint64_t stays = out() + floor;
      return need() - std::min(need(), stays);
    }
    void lowerTo(std::uint64_t bytes) {
      goal = std::min(goal, bytes);
      allowed = std::min(allowed, bytes);
    }
  };

  Resident(TenantKey name, const ResidencyEntitlement& asked, Nanos now)
      : key(name), terms(asked), wanted_since(now) {
    stay.idle_since = now;
  }

  bool uses(unsigned device) const { return (terms.devices >> device & 1) != 0; }
  bool isRunnable() const { return stay.wants; }
  // It has, or is being given, all that it needs.
  bool isResident() const {
    return std::all_of(places.begin(), places.end(),
                       [](const DeviceResidency& place) { return place.lack() == 0; });
  }
  bool belowFloor() const {
    return std::any_of(places.begin(), places.end(),
                       [](const DeviceResidency& place) { return place.goal < place.floor; });
  }
  // It needs more than it could be given at any time at present.
  bool isShort() const {
    return std::any_of(places.begin(), places.end(),
                       [](const DeviceResidency& place) { return place.target < place.need(); });
  }
  // It can use host memory in place of device memory that it cannot have.
  bool mapsHost() const {
    return terms.host_map && terms.swappable && !terms.parked && stay.maps_host;
  }
  // It has all that it can be given, and that is not enough.
  bool runsWithHost() const { return mapsHost() && isShort() && isResident() && complete(); }
  // It waits for more than is planned for it.
  bool isWaiting() const { return (isRunnable() && !isResident()) || belowFloor(); }
  bool complete() const {
    return std::all_of(places.begin(), places.end(),
                       [](const DeviceResidency& place) { return place.allowed >= place.target; });
  }
  bool eligible() const { return !terms.swappable || (stay.ready && !taken); }
  // Bytes that it has, or may take under an earlier order, beyond what is allowed.
  std::uint64_t excess() const {
    std::uint64_t sum = 0;
    for (const DeviceResidency& place : places)
      sum += place.reported.held - std::min(place.reported.held, place.allowed);
    return sum;
  }
  // Memory that it has, not only memory that it may take, exceeds what is allowed.
  bool overfull() const {
    return std::any_of(places.begin(), places.end(), [](const DeviceResidency& place) {
      return place.reported.mapped + place.reported.pinned > place.allowed;
    });
  }
  // Some of its memory is to leave: its turn ends.
  void evict(Nanos now) {
    if (isResident()) return;
    taken = true;
    granted_at = ready_at = 0;
    predicted = 0;
    excess_seen = 0;
    if (isRunnable()) wanted_since = now;
  }

  const TenantKey key;
  ResidencyEntitlement terms;
  ResidencyReport stay;
  std::array<DeviceResidency, kMaxGroupDevices> places{};
  bool known = false;  // has reported

  // Its turn. 0: none. It begins with the grant; its length counts from when the tenant is ready.
  Nanos granted_at = 0;
  Nanos ready_at = 0;
  std::uint64_t grant = 0;  // number of its last grant, to serve earlier grants first
  bool lent = false;        // served past a tenant that waited
  bool stuck = false;       // cannot be given what it needs in its turn
  bool taken = false;       // some memory that it needs was taken since its last grant
  bool yielded = false;     // a higher class took its memory
  bool unused = false;      // gave its memory back after unused_after of idleness
  TenantKey taker = 0;      // tenant that last took its memory; 0: none
  bool idled = false;       // memory was taken while it was idle
  bool park = false;        // it is to be parked
  bool reserved = false;    // it is parked, and has the memory that its return needs
  Nanos wanted_since = 0;
  double served = 0;  // time resident / weight

  // As a tenant that gives memory.
  Nanos retry = 0;     // last pause after it refused
  Nanos retry_at = 0;  // not asked before
  Nanos moved_at = 0;  // when it last gave memory
  std::uint64_t excess_seen = 0;

  Nanos predicted = 0;  // predicted time of the swap that brings it in
  std::deque<Nanos> swaps;
  std::uint64_t swap_count = 0;
  Nanos longest_wait = 0;
  ResidencyTarget ordered;
  bool ever_ordered = false;
};

}  // namespace divvy::arbiter
