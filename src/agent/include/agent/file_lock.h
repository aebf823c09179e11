// flock on a path that other processes may remove and recreate.
#pragma once

#include <string>

#include "base/fd.h"

namespace divvy::agent {

// Locks `path` exclusively: a directory, or a file, which is created if missing. Returns an invalid
// descriptor if another process holds the lock and `wait` is false, or if opening fails
// (reason in errno). A lock on an unlinked file does not count: the path's present file is
// locked.
Fd lockPath(const std::string& path, bool directory, bool wait);

// Whether the path still is the locked file or directory: another process may have removed and
// recreated it.
bool holdsPath(const Fd& lock, const std::string& path);

}  // namespace divvy::agent
