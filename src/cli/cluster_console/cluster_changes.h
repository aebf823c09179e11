// Changes of a cluster that viewers of its console request.
#pragma once

#include <chrono>

#include "base/result.h"
#include "cluster_console/cluster_watch.h"
#include "console/cluster_change.h"
#include "options/kube_connection.h"

namespace divvy::cli {

struct ChangeBounds {
  std::chrono::milliseconds exchange{3000};  // for connecting, and for each reply
  std::chrono::milliseconds resize{15'000};  // for the scheduler's answer to a resize
  // For all but the last reply and the Event. The sum with them is less than 30 s.
  std::chrono::milliseconds whole{20'000};
};

// Makes a change, or checks it by a dry run, as console::ClusterSource::change() describes. It asks
// the API server of `connection`, with the rights of `change.token` if there is one. `watch` has
// the devices of nodes. May be called by several threads at the same time. Returns within 30 s.
Result<console::ClusterChangeOutcome> changeCluster(const ConnectionOptions& connection,
                                                    ClusterWatch& watch,
                                                    const console::ClusterChange& change,
                                                    const ChangeBounds& bounds = {});

}  // namespace divvy::cli
