// Resource names under which a node of Kubernetes counts and describes its devices.
#pragma once

#include "agent/cluster_node.h"
#include "base/result.h"
#include "options/options.h"
#include "options/raw_options.h"

namespace divvy::cli {

// kUsage: an invalid name, or one of another dialect.
Result<void> readNames(const ClusterNodeText& text, AgentOptions* options,
                       agent::ClusterNode* cluster);

// Adds resources of models and instances, and of all devices if none is named, from NVIDIA's
// descriptor and the file of further resources. kIo, kUsage: about that file.
Result<void> addNames(const AgentOptions& options, agent::ClusterNode* cluster);

}  // namespace divvy::cli
