// The kinds of load. Each runs in a process with a context and returns what it saw.
#pragma once

#include "card_time.h"
#include "facts.h"
#include "kernel.h"
#include "plan.h"
#include "stalls.h"

namespace divvy::bench {

struct LoadStage {
  const LoadPlan& plan;
  const CardClock& clock;
  WorkKernel& kernel;
  CardTime begin;           // now; what the plan's times count from
  const StallPage* stalls;  // nullptr: time never stands still
};

// For how long the machine has stood still so far.
CardTime lostBefore(const LoadStage& stage);
// Sleeps until `at` by the clock that stands still while the machine does.
void awaitArrival(const LoadStage& stage, CardTime at);

// `kind` is one that parsePlan() accepts. Fills everything but begin and thread_ms.
void runLoad(const LoadStage& stage, LoadFacts* facts);

}  // namespace divvy::bench
