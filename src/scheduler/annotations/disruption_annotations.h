// Annotations by which a pod protects itself from preemption and reclaim. Pure. Private.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// "false": the pod is never evicted to free capacity for other pods.
inline constexpr const char* kEvictable = "use.divvy.dev/evictable";
// Minimum run time before the pod may be evicted to free capacity ("10m").
inline constexpr const char* kMinRuntime = "use.divvy.dev/min-runtime";

// Returns the value of an annotation; null: absent or empty.
const std::string* annotationOf(const kube::Labels& annotations, const char* key);

// Parses a duration: "90s", "10m", "2h", "1d"; a number without a unit is seconds. kUsage: the
// message names the accepted forms.
Result<std::int64_t> secondsOf(const std::string& text);

// Checks both annotations of a pod. kUsage names the annotation and the accepted values.
Result<void> checkProtection(const kube::Labels& annotations);

}  // namespace divvy::scheduler
