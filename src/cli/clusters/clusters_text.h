// Clusters with their free capacity, as text and as JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clusters/cluster_capacity.h"

namespace divvy::cli {

// Sorts by how many fit, then by how many fit after evictions; clusters without an answer last.
void sortByFit(std::vector<ClusterCapacity>& clusters);

// One line per cluster. With an answer to a question: how many more fit there.
std::string clustersText(const std::vector<ClusterCapacity>& clusters, bool headers,
                         std::size_t width);
// Returns {"clusters": [{"name", "problem", "fit", "fit_after_eviction", "capacity"}]}.
std::string clustersJson(const std::vector<ClusterCapacity>& clusters);

}  // namespace divvy::cli
