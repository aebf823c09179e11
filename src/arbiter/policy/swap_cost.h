// The arithmetic of turns that are a swap apart.
#pragma once

#include "arbiter/residency.h"

namespace divvy::arbiter {

// How long it takes until so many bytes have left and so many have come in, both ways at once.
Nanos swapTime(const Link& link, std::uint64_t out, std::uint64_t in);

// The part of a device's time that swaps may cost, where contenders need `ratio` of its budget.
double lossTarget(double ratio, bool latency);

// How long a turn is for swaps to cost just that part.
Nanos turnFor(Nanos swap, double loss);

// The same within the bounds; `part`: the holder's weight, of the mean one.
Nanos quantumFor(const ResidencyConstants& constants, Nanos swap, double loss, double part = 1);

}  // namespace divvy::arbiter
