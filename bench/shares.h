// How exactly a card's time is shared: the bench of shares and caps.
#pragma once

#include "card_bench.h"

namespace divvy::bench {

// Runs every case by the card's own time slicing and under Divvy, one line to `say` before each
// step. Throws std::runtime_error when nothing can be measured at all; a case that fails counts as
// wrong by 100.
Report measureShares(const CardBenchPlan& plan, const Say& say);

}  // namespace divvy::bench
