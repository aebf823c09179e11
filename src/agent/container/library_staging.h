// What is mounted into containers, put where the node's runtime finds it.
#pragma once

#include <string>

#include "agent/install_layout.h"
#include "base/result.h"

namespace divvy::agent {

// An agent that is in a container itself has its libraries in its image, where no other container's
// mounts can name them. So they are copied to `dir`, a folder of the node's under the same path in
// ours, into a folder that is called after what is in it: running containers keep the one that they
// have, and a file that was once mounted is never written again. One that is there already is used
// if it holds what it should; a damaged one is left alone and another is made beside it.
// `simulated`: with the simulated driver. The result names the copies; what runs stays what runs.
Result<InstallLayout> stageInstall(const InstallLayout& from, const std::string& dir,
                                   bool simulated);

}  // namespace divvy::agent
