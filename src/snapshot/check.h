// Whether an engine takes all of it. Private.
#pragma once

#include "reader.h"

namespace divvy::snapshot {

// What is wrong with a snapshot whose members are read, and where.
Fault check(const Snapshot& snapshot);

}  // namespace divvy::snapshot
