// Our figures under the names of HAMi's node monitor, for dashboards that were made for it. Source:
// its cmd/vGPUmonitor/metrics.go, names new and old. Pure. Private.
#pragma once

#include "metrics/exposition.h"
#include "telemetry/metrics.h"

namespace divvy::agent {

// Adds families for cards and pods' containers. Figures that we lack (bytes of modules and buffers,
// use of the memory controller) have no family.
void addHamiFamilies(metrics::Exposition* out, const MetricsInput& all);

}  // namespace divvy::agent
