// What both forms of a pod, JSON and protobuf, say in the same words. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/pod.h"

namespace divvy::kube {

inline constexpr std::string_view kAlways = "Always";  // restartPolicy of a sidecar
inline constexpr std::string_view kNever = "Never";    // preemptionPolicy

PodPhase phaseOf(std::string_view text);
// A condition as it was read, and since when; keeps of it what is kept.
void take(PodCondition condition, std::int64_t since, Pod* pod);
// Seconds since 1970 as RFC 3339 in UTC, as API servers write instants.
std::string instantText(std::int64_t seconds);

}  // namespace divvy::kube
