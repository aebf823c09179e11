// What the arbiter's law costs.
#pragma once

#include "report.h"

namespace divvy::bench {

// Adds arbiter_decide_ns/2, /8 and /64: processor time of a report and a decision beside so many
// tenants that all want to run; the median of several courses.
void measureLawCost(Report& report);

}  // namespace divvy::bench
