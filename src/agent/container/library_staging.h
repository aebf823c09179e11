// Copies the libraries to where the container runtime can mount them.
#pragma once

#include <string>

#include "agent/install_layout.h"
#include "base/result.h"

namespace divvy::agent {

// An agent in a container has its libraries in its image, which mounts of other containers cannot
// name. So they are copied below `dir`, a directory of the node with the same path in the agent's
// container. The subdirectory is named after a hash of the contents. Running containers keep
// theirs, and a mounted file is never written again. An existing subdirectory is used if its
// contents are right; a damaged one stays, and another is created beside it. `simulated`: includes
// the simulated driver. Returns the layout with the copies; programs that run keep their paths.
// Errors: a source cannot be read, or a copy cannot be written.
Result<InstallLayout> stageInstall(const InstallLayout& from, const std::string& dir,
                                   bool simulated);

}  // namespace divvy::agent
