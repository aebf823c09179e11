// The annotation that says what a pod was promised when its gate was taken away. Pure. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Guarded: ours alone (policy divvy-pod-annotations).
inline constexpr const char* kPlanKey = "divvy.dev/plan";

struct ReservationAnnotation {
  std::string epoch;  // differs for any two plans
  std::string queue;  // that it counts for; empty: for none
  Reservation place;
};

std::string encode(const ReservationAnnotation& note);
// kCorrupt: what is wrong with it.
Result<ReservationAnnotation> decodePlan(const std::string& text);

}  // namespace divvy::scheduler
