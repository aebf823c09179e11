// Device memory of a process that no ledger counts. Pure. Private.
#pragma once

#include <algorithm>

#include "base/bytes.h"

namespace divvy::agent {

// Largest size of what the driver allocates for a tenant on its own: modules, printf buffers, local
// memory. A sixteenth of the tenant's limit, 256 MiB at least.
inline Bytes untrackedMemory(Bytes limit) {
  return std::max(mib(256), Bytes{limit.count / 16});
}

}  // namespace divvy::agent
