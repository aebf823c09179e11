// Device memory of a process that no ledger counts. Pure. Private.
#pragma once

#include <algorithm>

#include "base/bytes.h"

namespace divvy::agent {

// Largest size of the driver's own allocations for a tenant: modules, printf buffers, local memory.
// A sixteenth of the tenant's limit, at least 256 MiB.
inline Bytes untrackedMemory(Bytes limit) {
  return std::max(mib(256), Bytes{limit.count / 16});
}

}  // namespace divvy::agent
