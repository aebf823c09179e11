// Permissions of files in directories that a group may write.
#pragma once

#include <sys/types.h>

#include <string>

namespace divvy {

// Returns the permissions for a file in `folder` (a descriptor or a path). If the folder's group
// may write there, the group gets the owner's permissions of `mode` too. Otherwise, and if the
// folder cannot be examined, returns `mode`.
mode_t modeIn(int folder, mode_t mode);
mode_t modeIn(const std::string& folder, mode_t mode);

// Adds the permissions `mode` to a file. A file that has them already is not changed, so it may
// belong to another user. Returns false, with errno set, on failure.
bool allow(const std::string& path, mode_t mode);

}  // namespace divvy
