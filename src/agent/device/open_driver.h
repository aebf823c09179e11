// Opens the driver of a node's cards. Private.
#pragma once

#include "agent/install_layout.h"
#include "agent/node.h"
#include "base/result.h"
#include "driver/nvml.h"

namespace divvy::agent {

// On simulated nodes opens the driver installed beside this program: the state of its cards is
// under paths.cards(). Sets SIMGPU_PROFILE and SIMGPU_DIR in this process. Errors name the missing
// part and the accepted values.
Result<driver::Nvml> openDriver(const Node& node, const NodePaths& paths,
                                const InstallLayout& install);
// Absolute path of libcuda for tenants; empty: their loader chooses.
std::string cudaOf(const Node& node, const InstallLayout& install);

}  // namespace divvy::agent
