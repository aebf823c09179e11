// Memory errors of cards without an event. Events reach only present listeners, but the driver
// counts errors. Compares the counts with those known before. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/driver_worker.h"

namespace divvy::agent {

// Whether an Xid is about a card's memory, so that the driver's counts include its error.
bool isOfMemory(std::uint64_t xid);

// The difference of two counts.
struct EccErrorDelta {
  std::uint64_t uncorrected = 0;
  bool pending = false;
  bool failed = false;

  bool any() const { return uncorrected != 0 || pending || failed; }
  // The Xid of the missing event: 64, 48 or 63, the most severe.
  std::uint64_t xid() const;
  // "2 uncorrected memory errors, memory that is replaced when the card is reset".
  std::string words() const;
  friend bool operator==(const EccErrorDelta&, const EccErrorDelta&) = default;
};

// The errors in `now` beyond `known`. A lower count restarted with the driver: all of it is new. A
// value that is missing in either adds nothing.
EccErrorDelta grownSince(const driver::MemoryErrors& known, const driver::MemoryErrors& now);
// `now`, with missing values taken from `known`.
driver::MemoryErrors laterOf(const driver::MemoryErrors& known, const driver::MemoryErrors& now);

// The counts after the driver was reloaded: its own restart at 0, the card's stay.
driver::MemoryErrors reloaded(const driver::MemoryErrors& known);

// A fault without an event.
struct MissedFault {
  unsigned index = 0;
  EccErrorDelta growth;
  bool away = false;  // it occurred before this agent's first look
};

class EccErrorTracker {
 public:
  struct Seen {
    std::vector<MissedFault> faults;
    // Errors of unknown age: no agent has looked at that card before.
    std::map<unsigned, EccErrorDelta> old;
  };

  // Restores the counts of an earlier agent. Call before observe().
  void recall(unsigned index, const driver::MemoryErrors& known) { cards_[index].known = known; }
  // Takes the driver's answer. An event may come a look before or after its count: only an error
  // without an event for two looks is a missed fault. In the first look, no event was possible.
  Seen observe(const DriverHealth& said);
  // By index: the counts that the next agent has to restore.
  std::map<unsigned, driver::MemoryErrors> known() const;

 private:
  struct Card {
    std::optional<driver::MemoryErrors> known;
    bool looked = false;     // this agent has looked
    bool suspected = false;  // an error is new, without an event so far
    bool told = false;       // the last look had an event, but no count
  };
  void observeCard(unsigned index, const driver::MemoryErrors& now, bool heard, Seen* seen);

  std::map<unsigned, Card> cards_;
};

}  // namespace divvy::agent
