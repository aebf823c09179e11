// Admission policies for pods with devices, which API servers enforce without the scheduler. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/device_priority.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

struct PolicyOptions {
  std::string name = "divvy-scheduler";  // name of the scheduler and of its service account
  std::string agent = "divvy-agent";     // service account of the agents
  // Accepted beside Divvy's own: users that write assignments and registrations
  // ("system:serviceaccount:NS:NAME"), users that bind pods in single namespaces, and names of
  // schedulers for pods with devices.
  std::vector<std::string> writers, binders, schedulers;
  // rules of the scheduler: a pod that they give high priority may have it in any namespace
  PriorityRules priorities;
};

// Returns YAML: ValidatingAdmissionPolicies with their bindings. kUsage: the message has the
// refused name. kInternal: a fault of a template.
Result<std::string> policies(const vendors::Catalog& catalog, const PolicyOptions& options);

}  // namespace divvy::scheduler
