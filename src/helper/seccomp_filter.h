// What the helper's process can never do, whatever becomes of it.
#pragma once

#include "base/result.h"

namespace divvy::helper {

// From now on this thread, and those that it starts, may make the system calls of a list, and no
// others: threads, but no process and no program; AF_UNIX's sockets; signals to and limits of this
// process only. All else is refused with EPERM. kUnsupported: the kernel has no seccomp.
Result<void> narrow();

// This thread, and those that it starts, have no capability from now on: root's files are still
// root's.
Result<void> dropCapabilities();

}  // namespace divvy::helper
