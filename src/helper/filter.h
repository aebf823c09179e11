// What the helper's process can never do, whatever becomes of it.
#pragma once

#include "base/result.h"

namespace divvy::helper {

// From now on, for this thread and those that it starts: no sockets but AF_UNIX's, no program
// started, nobody signalled but this process, nobody traced or read, nothing mounted, no namespace
// entered, no kernel program loaded. Asked for, it is refused with EPERM. kUnsupported: the kernel
// has no seccomp.
Result<void> narrow();

}  // namespace divvy::helper
