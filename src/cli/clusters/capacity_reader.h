// Reads the free capacity of several clusters from their schedulers.
#pragma once

#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "clusters/cluster_capacity.h"
#include "options/options.h"

namespace divvy::cli {

// Asks the scheduler of each context of the kubeconfig, several at the same time, with the user's
// rights; each for a few seconds at most. `pod`: asks how many more of it fit; null: nothing is
// asked. In the order of the contexts. kUsage: the kubeconfig has no context, or too many.
Result<std::vector<ClusterCapacity>> readCapacities(const ClustersOptions& options,
                                                    const boost::json::object* pod);

}  // namespace divvy::cli
