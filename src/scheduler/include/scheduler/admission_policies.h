// Who may do what to pods with devices, as policies that API servers hold up without us. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/device_priority.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

struct PolicyOptions {
  std::string name = "divvy-scheduler";  // the scheduler's, and its service account's
  std::string agent = "divvy-agent";     // the service account of the agents on nodes
  // Beside ours: who writes assignments and registrations, too ("system:serviceaccount:NS:NAME"),
  // who binds pods in single namespaces, and which schedulers pods with devices may name.
  std::vector<std::string> writers, binders, schedulers;
  // The scheduler's: pods of a class that these call high may have high priority in any namespace.
  PriorityRules priorities;
};

// YAML: ValidatingAdmissionPolicies with their bindings. kUsage: a name that cannot be one.
Result<std::string> policies(const vendors::Catalog& catalog, const PolicyOptions& options);

}  // namespace divvy::scheduler
