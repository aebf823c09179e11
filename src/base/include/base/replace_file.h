// Files that others read while they are written anew.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace divvy {

// Puts a file with that text, on disk when it returns, at `folder`/`name`: whole, or not at all.
// What is there is replaced; until then it is in the folder under a hidden name without an ending.
// kIo names the file.
Result<void> replaceFile(const std::string& folder, const std::string& name,
                         const std::string& text, mode_t mode);

}  // namespace divvy
