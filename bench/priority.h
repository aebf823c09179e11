// How little a latency service notices best-effort work beside it: the bench of priorities.
#pragma once

#include "card_bench.h"

namespace divvy::bench {

// Runs every case alone, by the card's own time slicing and under Divvy, one line to `say` before
// each step. Throws std::runtime_error when nothing can be measured at all.
Report measurePriority(const CardBenchPlan& plan, const Say& say);

}  // namespace divvy::bench
