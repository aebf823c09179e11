// How long a tenant of a higher class must have been idle before lower classes may run.
//
// Each entry into a gap delays the higher class when it comes back. The threshold is the one that
// would have maximised, over the recent gaps, (time gained by lower classes) - (entries) x (cost of
// an entry). So gaps between the launches of one request are skipped, whatever their length, and
// long or irregular gaps are entered early.
//
// If all gaps are alike in this respect, as with Poisson arrivals, that threshold is the shortest
// one. It is then raised, so that fewer arrivals find a lower class in the gap. It rises while the
// delay would be more than a small part of the work that it delays. At most 24 % of the gaps' time
// is given up for that, and less if it gains little.
#pragma once

#include <array>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class IdleGap {
 public:
  IdleGap() = default;
  // Thresholds between `shortest` and `longest` are tried; `shortest` is in force until gaps were
  // seen. Until delays were seen, a lower class is assumed to take `delay` to leave the device.
  // `reload` is the additional cost of an entry.
  IdleGap(Nanos shortest, Nanos longest, Nanos delay, Nanos reload);

  // The tenant had nothing to do from `from` to `to`.
  void ended(Nanos from, Nanos to);
  // A tenant of a lower class took `by` to leave the device.
  void delayed(Nanos by);
  Nanos threshold() const { return threshold_; }

 private:
  static constexpr unsigned kSteps = 24;

  void choose();
  // The part of the gaps that is given up to spare arrivals an entry.
  double spared() const;

  // Edge i: threshold i, and the lower bound of the gaps counted in i.
  std::array<Nanos, kSteps> edges_{};
  std::array<double, kSteps> count_{};
  std::array<double, kSteps> length_{};
  double entry_cost_ = 0;
  double delay_ = 0;  // mean time until a lower class has left the device
  double work_ = 0;   // mean work between two gaps that were long enough; 0: not known
  Nanos work_began_ = 0;
  Nanos longest_counted_ = 0;
  Nanos threshold_ = 0;
};

}  // namespace divvy::arbiter
