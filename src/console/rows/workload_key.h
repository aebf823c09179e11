// Workloads in the history: one object for all pods of a workload, so that many pods need few
// series. Pure.
#pragma once

#include <string>
#include <string_view>

#include "rows/list_row.h"

namespace divvy::console {

inline constexpr const char* kWorkloadKind = "workload";

// Metrics of a workload.
// Memory on one device that one share has resident and swapped: the most of its shares.
inline constexpr std::string_view kPeakMetric = "memory_peak_bytes";
// Mean over 5 minutes of the part of a device that the busiest share used.
inline constexpr std::string_view kBusyMetric = "busy_permille";
// Time that its shares ran since the start of the hour, in sum. The maximum of an hour is its sum.
inline constexpr std::string_view kRunningMetric = "running_ms";

// Returns the key of a cluster's share: NAMESPACE/KIND/NAME/CONTAINER.
std::string clusterWorkloadKey(const ListRow& share);
// Returns the key of one machine's share: its name, or else its ID.
std::string localWorkloadKey(std::string_view name, std::string_view tenant);

// Returns the object of the workload's series, at most 128 bytes: the key, or its start and a hash
// if it is longer. The start has the namespace: keys of two namespaces have different objects.
std::string workloadObject(const std::string& key);

}  // namespace divvy::console
