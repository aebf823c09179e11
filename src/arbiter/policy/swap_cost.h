// The cost of swaps, and the length of turns between them.
#pragma once

#include "arbiter/residency.h"

namespace divvy::arbiter {

// Time to copy `out` bytes to the host and `in` bytes to the device, both ways at once.
Nanos swapTime(const SwapCost& cost, std::uint64_t out, std::uint64_t in);

// The part of a device's time that swaps may cost, if contenders need `ratio` of its budget.
// `latency`: a contender is of the latency class.
// `latency`: a contender is of the latency class.
double lossTarget(double ratio, bool latency);

// The turn length at which swaps cost the part `loss`.
Nanos turnFor(Nanos swap, double loss);

// turnFor() within the bounds of `constants`; `part`: the holder's weight / mean weight.
Nanos quantumFor(const ResidencyConstants& constants, Nanos swap, double loss, double part = 1);

}  // namespace divvy::arbiter
