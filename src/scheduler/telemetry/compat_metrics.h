// The same under the names that other schedulers have for it, for dashboards made for those. Pure.
// Private.
#pragma once

#include "metrics/exposition.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// HAMi's names, new and old (source: facts on the incumbent's control plane, 5.1), and Volcano's.
void addCompatFamilies(metrics::Exposition* out, const ClusterSample& seen);

}  // namespace divvy::scheduler
