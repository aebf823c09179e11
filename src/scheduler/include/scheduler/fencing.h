// Bindings say in which term they were decided, and the API server refuses those of an earlier
// one: what a leader has on its way when it is paused, or cut off, does not arrive after its
// successor has begun. Pure.
#pragma once

#include <string>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// Of a binding, and then of the pod: Leadership's fence.
inline constexpr const char* kTermAnnotation = "divvy.dev/lease";
// Where the chart puts us, and the Lease.
inline constexpr const char* kSpace = "divvy-system";

// YAML: the admission policy. `name` is the scheduler's, and the Lease's.
std::string fencingPolicy(const vendors::Catalog& catalog, const std::string& name);

}  // namespace divvy::scheduler
