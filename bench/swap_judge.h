// What is right and wrong about how memory moved between a card and its host, from what the card
// did. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge.h"
#include "report.h"
#include "samples.h"

namespace divvy::bench {

// Copies of one program in one direction, in a round.
struct Copies {
  Spans spans;
  std::uint64_t bytes = 0;
};

// From the first start to the last end; empty without copies.
Span wholeOf(const Spans& spans);

// Bytes per second over that time: what lies idle between two copies counts. NaN without copies.
double rateOf(const Copies& copies);
// Of each direction, where both go at once: until both are done. NaN where one has no copies.
double duplexRate(const Copies& one, const Copies& other);

// |actual - predicted| as a part of `predicted`; NaN: nothing was predicted.
double predictionError(double predicted, double actual);

// What was measured of one way to move so much in such chunks.
struct SwapCase {
  std::string way;  // "out", "in", "duplex", "handover"
  unsigned mib = 0;
  unsigned chunk_mib = 0;
  double first_rate = 0;  // of the first time, when host memory is still to be had and pinned
  Samples rates;          // bytes per second, later
  Samples errors;         // of predictions

  double rate() const { return median(rates); }
};

// What the link can do: bytes per second each way, alone and where both go.
struct SwapLink {
  double alone = 0;
  double duplex = 0;
};

// What part of the link a case used, 0..1. Who takes over memory comes one chunk behind who leaves
// it: that is no fault of the mover's.
double partOfLink(const SwapCase& one, const SwapLink& link);

// Figures and table of all cases: for each way the worst one against the bar.
void addSwapCases(const std::vector<SwapCase>& cases, const SwapLink& link, Report& report);

}  // namespace divvy::bench
