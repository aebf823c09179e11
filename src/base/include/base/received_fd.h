// Descriptors that came with a message.
#pragma once

#include <sys/socket.h>

#include "base/fd.h"

namespace divvy {

// The first one that came with what recvmsg() filled in; all others are closed. Invalid: none came.
Fd takeDescriptor(msghdr& message);

}  // namespace divvy
