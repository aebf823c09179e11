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

// What an API server said of a binding, and what to do where the policy can never let one in: API
// servers of 1.34 that had it before it was deleted and made again go on with the Lease as it was.
std::string explainFenced(const std::string& refusal);

}  // namespace divvy::scheduler
