// Pool memory of another process.
#pragma once

#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {

// Ends the import of a pointer (a kImported region with a pool). Under MemoryTable::mutex.
void releasePoolImport(Region& region);

}  // namespace divvy::simgpu
