// How fast memory is swapped: the bench of the mover.
#pragma once

#include "card_bench.h"

namespace divvy::bench {

// Moves memory out, in, both ways at once and from one tenant to another, by size and chunk size,
// one line to `say` before each step. Throws std::runtime_error when nothing can be measured at
// all. There is no such run on a real card yet: `plan.real` is refused.
Report measureSwap(const CardBenchPlan& plan, const Say& say);

}  // namespace divvy::bench
