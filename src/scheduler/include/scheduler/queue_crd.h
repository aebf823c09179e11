// What a cluster has to be told of queues: their definition, and who may read and write what. Pure.
#pragma once

#include <string>

namespace divvy::scheduler {

// YAML. `name` is the scheduler's service account.
std::string queuesManifest(const std::string& name);

}  // namespace divvy::scheduler
