// How late an event loop runs its timers. Pure: the clock is an argument.
#pragma once

#include <array>
#include <cstdint>

#include "metrics/exposition.h"

namespace divvy::metrics {

// For one thread.
class Lateness {
 public:
  // Records a lateness in seconds. `now_ms` is of a clock that never goes back.
  void add(double seconds, std::uint64_t now_ms);
  // Returns the largest lateness of the last minute, in seconds; a value may count up to kPart
  // longer.
  double largest(std::uint64_t now_ms) const;
  const Histogram& all() const { return all_; }

 private:
  static constexpr std::uint64_t kPart = 10'000;  // ms
  static constexpr std::size_t kParts = 6;
  struct Part {
    std::uint64_t number = 0;
    double largest = 0;
  };

  std::array<Part, kParts> parts_{};
  Histogram all_;
};

}  // namespace divvy::metrics
