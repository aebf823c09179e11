// Memory of graphs' allocation nodes, beside what pool_exec.h offers to the execution half.
#pragma once

#include "cuda/context/device.h"

namespace divvy::simgpu {

// Gives back what no graph uses right now: backing of destroyed graphs and of nodes that are not
// between their allocation and their free. Under MemoryTable::mutex.
void trimGraphMemory(Device& device);

}  // namespace divvy::simgpu
