// What tenants of one card get of it at a moment: memory by turns, time by urgency. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "simulator/scenario.h"

namespace divvy::simulator {

// A tenant that has work.
struct TenantDemand {
  Urgency urgency = Urgency::kNormal;
  Bytes memory;       // has to be on the card while it works
  double weight = 1;  // of time, against others of its urgency
  double want = 0;    // of the card's time, up to 1; 0 while its memory comes
  // Out.
  double there = 0;  // part of the time in which its memory is on the card; 1: always
  double rate = 0;   // of the card's time; at most `want`
};

// What turns cost, measured (docs/concepts/oversubscription.md): part of the time that is lost
// where those who take turns need `ratio` times the memory that there is. Beyond 2 it is drawn out
// from there.
double lossOfTurns(double ratio);

// The more urgent have all that they need first. Of equals that need more memory than is left all
// take turns: each has the card so often as many of them fit at once; who is less urgent than
// those waits. Time is what is wanted, or the fair part by weight, of what the more urgent leave.
void share(std::span<TenantDemand> demands, Bytes memory);

// How long a turn is where a switch takes `swap_s`: as the arbiter's law has it.
double turnSeconds(double swap_s, double ratio);

}  // namespace divvy::simulator
