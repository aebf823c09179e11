// Counters of other processes. A reading begins at 0 again when the process restarts. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "history/instant.h"

namespace divvy::history {

// The growth of a counter between two readings.
struct Increase {
  std::int64_t amount = 0;  // >= 0
  Span elapsed{};           // > 0
};

// Turns readings of one counter into increases. Not thread-safe.
class CounterReadings {
 public:
  // The longest time between two readings that gives an increase. After a longer one the amount
  // belongs to no known time.
  static constexpr Span kMaxGap{60'000};

  // Takes a reading and returns the increase since the reading before. Returns nothing for the
  // first reading, for one that is below the last (the process restarted), for one that is not
  // later than the last, and after more than kMaxGap. The next increase then starts at this
  // reading; a reading that is not later changes nothing.
  std::optional<Increase> next(Instant time, std::int64_t reading);

 private:
  bool known_ = false;
  Instant time_{};
  std::int64_t reading_ = 0;
};

// Returns the increase in thousandths of a unit per second, rounded down. Saturates at INT64_MAX.
std::int64_t milliPerSecond(const Increase& increase);

}  // namespace divvy::history
