// Values that a pod has in JSON and in protobuf. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/pod.h"

namespace divvy::kube {

inline constexpr std::string_view kAlways = "Always";  // restartPolicy of a sidecar
inline constexpr std::string_view kNever = "Never";    // preemptionPolicy

PodPhase phaseOf(std::string_view text);
// Takes over a condition: the instant of PodScheduled, and conditions with a domain in their type.
// `since` is in seconds since 1970.
void take(PodCondition condition, std::int64_t since, Pod* pod);

}  // namespace divvy::kube
