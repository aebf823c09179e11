// Who may use what is made in a folder.
#pragma once

#include <sys/types.h>

#include <string>

namespace divvy {

// What a folder's group may write belongs to its group as a whole: there what the owner may do with
// a file of `mode`, the group may, too. Elsewhere, and where it cannot be told: `mode`.
mode_t modeIn(int folder, mode_t mode);
mode_t modeIn(const std::string& folder, mode_t mode);

// That a file has at least these rights; what has them already may be anybody's. False, with errno.
bool allow(const std::string& path, mode_t mode);

}  // namespace divvy
