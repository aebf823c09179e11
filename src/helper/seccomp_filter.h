// Limits on the helper's process that hold whatever happens to it.
#pragma once

#include "base/result.h"

namespace divvy::helper {

// Limits this thread, and threads that it starts, to listed system calls. They may start threads,
// but no process or program. Sockets are AF_UNIX only; signals and limits are for this process
// only. All other calls fail with EPERM. kUnsupported: the kernel has no seccomp.
Result<void> narrow();

// Drops all capabilities of this thread and of threads that it starts. Root's files stay root's.
Result<void> dropCapabilities();

}  // namespace divvy::helper
