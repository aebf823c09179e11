// Available memory of the host. Private.
#pragma once

#include "base/bytes.h"

namespace divvy::agent {

// MemAvailable; 0: unknown.
Bytes hostAvailable();

}  // namespace divvy::agent
