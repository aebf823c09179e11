// Files that somebody else may have put there: anything may be in their place.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace divvy {

// All of a plain file of at most `most` bytes. Never waits: what has its name and is a pipe, a
// socket, a device, a folder or a link is not opened. kNotFound: nothing is there; kCorrupt: it is
// no plain file, or larger; kIo. Errors name the path.
Result<std::string> readPlainFile(const std::string& path, std::size_t most);
// Likewise, of what somebody opened, without waiting, at that path.
Result<std::string> readPlainFile(const Fd& file, const std::string& path, std::size_t most);

}  // namespace divvy
