// The same metrics under names of other schedulers, for existing dashboards. Pure. Private.
#pragma once

#include "metrics/exposition.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Adds metrics under HAMi's names, new and old (source: facts on the incumbent's control plane,
// 5.1), and under Volcano's.
void addCompatFamilies(metrics::Exposition* out, const ClusterSample& seen);

}  // namespace divvy::scheduler
