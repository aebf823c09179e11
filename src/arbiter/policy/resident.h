// One tenant as the law of residency sees it: what it has, may have, and is going to have.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "arbiter/residency.h"

namespace divvy::arbiter {

struct Resident {
  // On one device; bytes.
  struct Place {
    ResidentBytes said;
    std::uint64_t want = 0;     // of what it asked for, what it may take
    std::uint64_t allowed = 0;  // told
    std::uint64_t told = 0;     // the most that it was told since it last said what it has
    std::uint64_t goal = 0;     // planned; at least `allowed`
    std::uint64_t floor = 0;    // never planned below this, nor taken
    std::uint64_t most = 0;     // the others' floors leave so much
    std::uint64_t target = 0;   // what it would be given now

    std::uint64_t need() const { return said.pinned + want + said.swappable; }
    std::uint64_t book() const { return std::max({allowed, said.held, told}); }
    // What may be taken of it.
    std::uint64_t spare() const { return goal > floor ? goal - floor : 0; }
    std::uint64_t lack() const { return target > goal ? target - goal : 0; }
    // Of its swappable memory, what is planned to be with the host, and what else may come to be.
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

  Resident(Key name, const ResidencyEntitlement& asked, Nanos now)
      : key(name), terms(asked), wanted_since(now) {
    stay.idle_since = now;
  }

  bool uses(unsigned device) const { return (terms.devices >> device & 1) != 0; }
  bool wants() const { return stay.wants; }
  // It has, or is being given, all that it needs.
  bool home() const {
    return std::all_of(places.begin(), places.end(),
                       [](const Place& place) { return place.lack() == 0; });
  }
  bool belowFloor() const {
    return std::any_of(places.begin(), places.end(),
                       [](const Place& place) { return place.goal < place.floor; });
  }
  // It needs more than it could be given at any time, as things are.
  bool isShort() const {
    return std::any_of(places.begin(), places.end(),
                       [](const Place& place) { return place.target < place.need(); });
  }
  // What it cannot have on a device it can use where it is.
  bool mapsHost() const {
    return terms.host_map && terms.swappable && !terms.parked && stay.maps_host;
  }
  // It has all that it can be given, and that is not enough.
  bool runsWithHost() const { return mapsHost() && isShort() && home() && complete(); }
  // Waits for more than it is going to have.
  bool inLine() const { return (wants() && !home()) || belowFloor(); }
  bool complete() const {
    return std::all_of(places.begin(), places.end(),
                       [](const Place& place) { return place.allowed >= place.target; });
  }
  bool eligible() const { return !terms.swappable || (stay.ready && !taken); }
  // What it has, or may believe to be its own, more than it may.
  std::uint64_t excess() const {
    std::uint64_t sum = 0;
    for (const Place& place : places)
      sum += place.said.held - std::min(place.said.held, place.allowed);
    return sum;
  }
  // Some of what it has, not only of what it may have, is too much.
  bool overfull() const {
    return std::any_of(places.begin(), places.end(), [](const Place& place) {
      return place.said.mapped + place.said.pinned > place.allowed;
    });
  }
  // Some of what it has is to go.
  void lose(Nanos now) {
    if (home()) return;
    taken = true;
    granted_at = ready_at = 0;
    predicted = 0;
    excess_seen = 0;
    if (wants()) wanted_since = now;
  }

  const Key key;
  ResidencyEntitlement terms;
  ResidencyReport stay;
  std::array<Place, kMaxGroupDevices> places{};
  bool known = false;  // has reported

  // Its turn. 0: it has none; it begins with the grant, and lasts from when it is ready.
  Nanos granted_at = 0;
  Nanos ready_at = 0;
  std::uint64_t grant = 0;  // counts grants, to serve the earlier first
  bool lent = false;        // it was served past somebody who waited
  bool stuck = false;       // cannot be given what it needs in its turn
  bool taken = false;       // of what it needs, since it was last granted
  bool yielded = false;     // a higher class took its memory
  bool unused = false;      // gave its memory back: idle for as long as it may be
  Key taker = 0;            // who took of it last; 0: nobody
  bool idled = false;       // was taken from while idle
  bool park = false;        // it is to be parked
  bool reserved = false;    // it is parked, and has what it needs to come back
  Nanos wanted_since = 0;
  double served = 0;  // time resident, by weight

  // As one from whom memory is taken.
  Nanos retry = 0;     // the last pause after it refused
  Nanos retry_at = 0;  // it is not asked before
  Nanos moved_at = 0;  // when it last gave anything
  std::uint64_t excess_seen = 0;

  Nanos predicted = 0;  // the swap that it is coming in by
  std::deque<Nanos> swaps;
  std::uint64_t swap_count = 0;
  Nanos longest_wait = 0;
  ResidencyTarget told;
  bool ever_told = false;
};

}  // namespace divvy::arbiter
