// Folders of root that their group may use.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::helper {

// Makes the folder if it is missing, and gives its group root's rights on it and its content. Files
// of other owners stay unchanged: their owner admitted the group. Links are not followed.
Result<void> shareDir(const std::string& folder);
// Takes the group's rights on the folder away; its content stays unchanged.
void unshareDir(const std::string& folder);

}  // namespace divvy::helper
