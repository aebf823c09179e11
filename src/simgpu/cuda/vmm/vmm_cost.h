// How long the calls of virtual memory management take their caller. Memory copies cost the card's
// time; these cost the thread's, and nothing on the card waits for them.
#pragma once

#include <cstdint>

#include "card/profile.h"

namespace divvy::simgpu {

// The figure of a profile that a call costs.
using VmmCost = std::uint64_t Profile::*;

// Keeps the calling thread for as long, by the card's clock; the profile is that of device 0.
// Without any lock. Returns at once where the figure is 0.
void spendVmm(VmmCost cost);

}  // namespace divvy::simgpu
