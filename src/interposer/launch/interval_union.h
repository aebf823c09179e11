// Time on one device during which something ran, however many streams it ran in.
#pragma once

#include <cstdint>

namespace divvy::interposer {

// Remembers the latest stretches of time that were counted already. Not thread safe. The clock is
// the caller's; only differences matter.
class IntervalUnion {
 public:
  // Something was busy for `amount` within [start, end), it is not known when: counts as much of it
  // as fits into what was not counted yet, latest first, and returns that. Time before everything
  // that is remembered counts as counted.
  std::uint64_t add(std::uint64_t start, std::uint64_t end, std::uint64_t amount);

  void clear() { *this = IntervalUnion(); }

 private:
  struct Interval {
    std::uint64_t start;
    std::uint64_t end;
  };
  static constexpr unsigned kMax = 64;

  void insert(Interval stretch);

  Interval stretches_[kMax] = {};  // apart from each other, in order
  unsigned count_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace divvy::interposer
