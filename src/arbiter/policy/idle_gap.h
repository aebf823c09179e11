// How long a tenant of a higher class must have been idle before lower classes may run.
//
// Every entry into a gap costs the higher class a delay when it comes back. The threshold is the
// one that, over the gaps seen lately, would have made the most of (time gained by lower classes) -
// (entries) x (what an entry costs). Gaps between the launches of one request are then skipped,
// whatever their length; long or irregular gaps are entered early.
//
// Where gaps are all alike in that, as those of Poisson arrivals are, that threshold is the
// shortest one. It is then raised, so that fewer arrivals find somebody in the gap, for as long as
// the delay would else be more than a small part of the work that it delays, and a part of the gaps
// that is worth it pays for that.
#pragma once

#include <array>

#include "arbiter/policy.h"

namespace divvy::arbiter {

class IdleGap {
 public:
  IdleGap() = default;
  // Thresholds tried go from `shortest` to `longest`; the first is in force until gaps were seen.
  // Before delays were seen, who is let in is taken to need `delay` to make room; `reload` is what
  // an entry costs on top.
  IdleGap(Nanos shortest, Nanos longest, Nanos delay, Nanos reload);

  // There was nothing to do from one instant to the other.
  void ended(Nanos from, Nanos to);
  // Somebody who had been let in needed that long to make room.
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
  double delay_ = 0;  // until somebody has made room, on average
  double work_ = 0;   // between two gaps that were long enough, on average; 0: not known
  Nanos work_began_ = 0;
  Nanos longest_counted_ = 0;
  Nanos threshold_ = 0;
};

}  // namespace divvy::arbiter
