// The clock that the card lives by, and waiting on it.
#pragma once

#include <cstdint>

#include "judge.h"

namespace divvy::bench {

// CLOCK_MONOTONIC, or a fraction of it on a simulated card that was slowed down.
class CardClock {
 public:
  explicit CardClock(int speed_permille) : permille_(static_cast<std::uint64_t>(speed_permille)) {}
  CardTime now() const;
  // Sleeps; returns at once when the time has passed.
  void sleepUntil(CardTime at) const;
  CardTime fromMonotonic(std::uint64_t nanos) const { return nanos * permille_ / 1000; }

 private:
  std::uint64_t permille_;
};

std::uint64_t monotonicNow();

}  // namespace divvy::bench
