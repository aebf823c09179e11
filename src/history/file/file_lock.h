// The lock that keeps a store to one process.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::history {

// Locks the file, which is created if need be, until the descriptor is closed, and writes the
// process' ID and the host's name into it. kUnavailable: another process has the lock; the message
// names it. kIo: the file cannot be opened.
Result<Fd> lockFile(const std::string& path);

}  // namespace divvy::history
