// Folders of root's that its group may use.
#pragma once

#include <string>

#include "base/result.h"

namespace divvy::helper {

// Makes the folder where it is missing, and lets its group do there, and with what is in it, what
// root may. What is not root's is left alone: its owner let the group in. Links are not followed.
Result<void> shareDir(const std::string& folder);
// The folder itself is root's alone again; what is in it stays as it is.
void unshareDir(const std::string& folder);

}  // namespace divvy::helper
