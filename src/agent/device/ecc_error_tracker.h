// Errors of cards' memory that no event told of: events reach only who listens when they happen,
// but the driver counts. What it remembers now is held against what was known of it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/driver_worker.h"

namespace divvy::agent {

// Xids that are about a card's memory: what the driver counts is what they told of.
bool isOfMemory(std::uint64_t xid);

// What is new.
struct EccErrorDelta {
  std::uint64_t uncorrected = 0;
  bool pending = false;
  bool failed = false;

  bool any() const { return uncorrected != 0 || pending || failed; }
  // That the event would have had: 64, 48 or 63, the gravest.
  std::uint64_t xid() const;
  // "2 uncorrected memory errors, memory that is replaced when the card is reset".
  std::string words() const;
  friend bool operator==(const EccErrorDelta&, const EccErrorDelta&) = default;
};

// What `now` has that `known` has not. A count that is lower began anew since, with the driver: all
// of it is new. Of what was not known, or is not told now, nothing is.
EccErrorDelta grownSince(const driver::MemoryErrors& known, const driver::MemoryErrors& now);
// Those of `known` of which now nothing is told, with what is.
driver::MemoryErrors laterOf(const driver::MemoryErrors& known, const driver::MemoryErrors& now);

// Once the driver was loaded anew: it counts from 0, and what the card itself keeps stays.
driver::MemoryErrors reloaded(const driver::MemoryErrors& known);

// A fault that no event told of.
struct MissedFault {
  unsigned index = 0;
  EccErrorDelta growth;
  bool away = false;  // it happened before this agent looked first
};

class EccErrorTracker {
 public:
  struct Seen {
    std::vector<MissedFault> faults;
    // What nobody knows the age of: no agent has looked at that card before.
    std::map<unsigned, EccErrorDelta> old;
  };

  // What an agent before us knew, before look().
  void recall(unsigned index, const driver::MemoryErrors& known) { cards_[index].known = known; }
  // An event may come a look before or after its count: only what stays without one for two looks
  // is a fault that nobody heard. In the first look there is nobody who could have.
  Seen look(const DriverHealth& said);
  // By index, what the next agent has to recall. What may still be heard is not known yet.
  std::map<unsigned, driver::MemoryErrors> known() const;

 private:
  struct Card {
    std::optional<driver::MemoryErrors> known;
    bool looked = false;     // we did
    bool suspected = false;  // something is new, and no event told of it yet
    bool told = false;       // an event came the last time, and its count did not
  };
  void look(unsigned index, const driver::MemoryErrors& now, bool heard, Seen* seen);

  std::map<unsigned, Card> cards_;
};

}  // namespace divvy::agent
