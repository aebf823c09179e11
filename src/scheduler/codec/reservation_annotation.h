// The annotation that says what a pod was promised when its gate was taken away. Pure. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Guarded: ours alone (policy divvy-pod-annotations).
inline constexpr const char* kPlanKey = "divvy.dev/plan";

struct PlanNote {
  std::string epoch;  // differs for any two plans
  std::string queue;  // that it counts for; empty: for none
  Planned place;
};

std::string encode(const PlanNote& note);
// kCorrupt: what is wrong with it.
Result<PlanNote> decodePlan(const std::string& text);

}  // namespace divvy::scheduler
