// The body of a change of a cluster. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "console/cluster_change.h"

namespace divvy::console {

// Reads {"what": "resize", "target": {"share": "lab/p/main"}, "to": {"memory": "6Gi"}, "dry_run":
// true}. User, token and use are left empty. kUsage: the body is no such object; the message names
// the member and the accepted values.
Result<ClusterChange> readClusterChange(std::string_view body);

// Returns the word of the kind in bodies.
std::string_view wordOf(ClusterChangeKind kind);

}  // namespace divvy::console
