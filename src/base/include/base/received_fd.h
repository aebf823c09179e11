// File descriptors received with a message (SCM_RIGHTS). Source: unix(7).
#pragma once

#include <sys/socket.h>

#include "base/fd.h"

namespace divvy {

// Returns the first descriptor of a message that recvmsg() filled in, and closes all others. The
// caller owns it. Returns an invalid one if none came. To be called once for each message.
Fd takeDescriptor(msghdr& message);

}  // namespace divvy
