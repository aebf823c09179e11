// The reservation annotation: a pod's reservation, written when its gate is removed. Pure. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/reservation.h"

namespace divvy::scheduler {

// Protected: only the scheduler may write it (policy divvy-pod-annotations).
// Renamed: read it by kube::findRenamed.
inline constexpr const char* kReservationKey = "divvy.dev/reservation";

struct ReservationAnnotation {
  std::string epoch;  // unique for each plan
  std::string queue;  // charged queue; empty: none
  Reservation place;
};

// Returns the annotation's value, JSON.
std::string encode(const ReservationAnnotation& note);
// Parses the annotation's value. kCorrupt names the fault.
Result<ReservationAnnotation> decodePlan(const std::string& text);

}  // namespace divvy::scheduler
