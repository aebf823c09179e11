// Time on one device during which work ran, in however many streams.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Keeps the latest intervals that were counted. Not thread safe. The caller chooses the clock; only
// differences matter.
class IntervalUnion {
 public:
  // Work was busy for `amount` at unknown times within [start, end). Counts as much of it as fits
  // into time not yet counted, latest first, and returns that. Time before all kept intervals is
  // treated as counted.
  std::uint64_t add(std::uint64_t start, std::uint64_t end, std::uint64_t amount);

  void clear() { *this = IntervalUnion(); }

 private:
  struct Interval {
    std::uint64_t start;
    std::uint64_t end;
  };
  static constexpr unsigned kMax = 64;

  void insert(Interval stretch);

  Interval stretches_[kMax] = {};  // disjoint, ascending
  unsigned count_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace divvy::interposer
