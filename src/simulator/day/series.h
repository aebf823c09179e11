// What pods want over a day, drawn before anything is placed: the same whatever becomes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "simulator/scenario.h"

namespace divvy::simulator {

// Work that would take `length` on a card of its own, and keep it busy to `duty` meanwhile.
struct Burst {
  std::int64_t at_ms = 0;
  std::int64_t length_ms = 0;
  double duty = 0;  // of a card, up to 1
};

struct Pod {
  std::uint32_t workload = 0;
  std::int64_t comes_ms = 0;
  std::int64_t leaves_ms = 0;  // once its work is done; of a batch: as soon as it is
  std::vector<Burst> bursts;   // by time
};

// Of the time at work at most: there is always a gap.
inline constexpr double kMaxBusy = 0.98;

// Of a workload's hours, where `hour` is of the day: the mean percent that a card is busy.
class DayShape {
 public:
  explicit DayShape(const Duty& duty);
  double at(double hour) const;
  // Mean rate of who works, of a card.
  double rate() const { return rate_; }

 private:
  const Duty duty_;
  double power_ = 0;
  double rate_ = 1;
};

// All pods of the scenario, by the time at which they come.
std::vector<Pod> podsOf(const Scenario& scenario, std::uint64_t seed);

// Uniform in [0, 1).
double uniform(Rng& rng);

}  // namespace divvy::simulator
