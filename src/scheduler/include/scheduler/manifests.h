// What a cluster has to be told of us, made from the one list of resource names. Pure.
#pragma once

#include <string>
#include <vector>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// All resources of all kinds that can be placed yet, ascending; and what names of resources begin
// with that name one partition each ("nvidia.com/mig-").
std::vector<std::string> resourceNames(const vendors::Catalog& catalog);
std::vector<std::string> resourcePrefixes(const vendors::Catalog& catalog);

// YAML: the KubeSchedulerConfiguration of the kube-scheduler beside us, and the webhook's
// registration. `name` is the scheduler's; `all_feasible` as in SchedulerOptions.
std::string schedulerConfig(const vendors::Catalog& catalog, const std::string& name,
                            bool all_feasible = false);
std::string webhookConfig(const vendors::Catalog& catalog, const std::string& name);

}  // namespace divvy::scheduler
