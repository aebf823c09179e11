// Under which names a node of Kubernetes counts its devices, and says what they have.
#pragma once

#include "agent/cluster_node.h"
#include "base/result.h"
#include "options/options.h"
#include "options/raw_options.h"

namespace divvy::cli {

// kUsage: what is no name, or is said of another dialect.
Result<void> readNames(const ClusterNodeText& text, AgentOptions* options,
                       agent::ClusterNode* cluster);

// Those of models and of instances, and of all devices where none was said, of NVIDIA's descriptor
// and the file of further ones. kIo, kUsage: that file.
Result<void> addNames(const AgentOptions& options, agent::ClusterNode* cluster);

}  // namespace divvy::cli
