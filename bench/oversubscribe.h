// More memory than the card has: what taking turns costs batch jobs, and how soon a service that
// was swapped out answers.
#pragma once

#include "card_bench.h"

namespace divvy::bench {

// The keys that bench/README.md names, against their bars. Throws std::runtime_error.
Report measureOversubscription(const CardBenchPlan& plan, const Say& say);

}  // namespace divvy::bench
