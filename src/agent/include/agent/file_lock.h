// flock on a path that may be removed and made again by others.
#pragma once

#include <string>

#include "base/fd.h"

namespace divvy::agent {

// Locks `path` (a file, created if missing, or a directory) exclusively. Invalid when someone else
// holds it and `wait` is false, or when it cannot be opened (errno says why). A lock on a file that
// was unlinked meanwhile is no lock: the path's present file is what counts.
Fd lockPath(const std::string& path, bool directory, bool wait);

// Whether the path is still what was locked: its directory may have been removed, and made again by
// somebody else.
bool holdsPath(const Fd& lock, const std::string& path);

}  // namespace divvy::agent
