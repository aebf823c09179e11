// What HAMi's node monitor calls the figures of ours, for dashboards that were made for it. Source:
// its cmd/vGPUmonitor/metrics.go, names new and old. Pure. Private.
#pragma once

#include "metrics/exposition.h"
#include "telemetry/metrics.h"

namespace divvy::agent {

// Cards, and containers of pods; of what we do not know as it does (bytes of modules and buffers,
// the memory controller's use) there is no family.
void addHamiFamilies(metrics::Exposition* out, const MetricsInput& all);

}  // namespace divvy::agent
