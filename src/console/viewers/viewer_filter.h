// The part of a cluster that a viewer may see. The one place that hides things. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "console/cluster_source.h"
#include "console/viewer.h"
#include "viewers/reading_index.h"

namespace divvy::console {

// Numbers the pods that wait, within their queue and from 1: by priority, then by age.
void numberWaiting(ClusterReading& reading);

// Returns the part of a reading that a viewer of this scope may see:
// - pods, shares and their use in its namespaces, Events in those of its Events;
// - all nodes and devices, or else the devices that its pods are on. Amounts of other pods on them
//   are sums without names;
// - all queues, or else those that its pods name and its namespaces may use, without the namespaces
//   and pods of others. Reasons that a queue states may name others: they become a fixed text.
// Call numberWaiting() before: positions count pods that the viewer does not see.
ClusterReading visiblePart(const ReadingIndex& index, const ViewerScope& scope);

// Removes names that this scope does not show from an explanation (ClusterSource::explain()): of
// nodes and other pods, and adds "limited"; of queues.
boost::json::object visibleExplanation(boost::json::object explanation, const ViewerScope& scope);

// Returns the namespaces of pods and Events, ascending.
std::vector<std::string> namespacesOf(const ClusterReading& reading);

// Returns the namespaces to ask about in a viewer's review of that number: those that it may see,
// those of `known` that were not `refused`, and a twentieth of those that were. Namespaces that a
// review does not ask about are hidden.
std::vector<std::string> namespacesToReview(const std::vector<std::string>& known,
                                            const ViewerScope& before,
                                            const std::set<std::string>& refused,
                                            std::uint64_t review);

// Returns the namespace in the identifier of a share or a pod (NAMESPACE/...).
std::string namespaceIn(std::string_view id);

}  // namespace divvy::console
