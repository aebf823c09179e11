// What the host's memory could take now. Private.
#pragma once

#include "base/bytes.h"

namespace divvy::agent {

// MemAvailable; 0 where that is not told.
Bytes hostAvailable();

}  // namespace divvy::agent
