// Manifests that a cluster needs for the scheduler, from the resource catalog. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Resource names of all device kinds that can be placed, ascending.
std::vector<std::string> resourceNames(const vendors::Catalog& catalog);
// Prefixes of resource names that each count one kind of partition ("nvidia.com/mig-"), ascending.
std::vector<std::string> resourcePrefixes(const vendors::Catalog& catalog);

// Returns YAML: the KubeSchedulerConfiguration of the kube-scheduler beside Divvy. `name`: of the
// scheduler; `all_feasible`: as in SchedulerOptions. kInternal: a fault of the template.
Result<std::string> schedulerConfig(const vendors::Catalog& catalog, const std::string& name,
                                    bool all_feasible = false);
// Returns YAML: the MutatingWebhookConfiguration. `name`, kInternal: as in schedulerConfig().
Result<std::string> webhookConfig(const vendors::Catalog& catalog, const std::string& name);

}  // namespace divvy::scheduler
