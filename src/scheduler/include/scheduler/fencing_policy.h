// The fencing policy. Bindings and admitted resizes name the term in which they were decided, and
// the API server refuses those of an earlier term. So a request of a leader that was paused or cut
// off takes no effect after its successor has started. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Annotation of a binding, and then of the pod: the fence (runtime/leader_election.h).
inline constexpr const char* kTermAnnotation = "divvy.dev/scheduler-term";
// Namespace in which the chart installs the scheduler and its Lease.
inline constexpr const char* kDivvyNamespace = "divvy-system";

// Returns YAML: the admission policy and its binding. `name`: of the scheduler and of its Lease.
// kInternal: a fault of the template.
Result<std::string> fencingPolicy(const vendors::Catalog& catalog, const std::string& name);

// Returns `refusal`, the API server's answer to a binding, with the remedy added where the policy
// may never accept a binding. API servers 1.34 that had the policy before it was deleted and
// created again go on with the Lease as it was then.
std::string explainFenced(const std::string& refusal);

}  // namespace divvy::scheduler
