// Memory of graphs' allocation nodes, except for the interface of the execution half in
// pool_exec.h.
#pragma once

#include "cuda/context/device.h"

namespace divvy::simgpu {

// Gives back what no graph uses right now: backing of destroyed graphs and of nodes that are not
// between their allocation and their free. Under MemoryTable::mutex.
void trimGraphMemory(Device& device);

}  // namespace divvy::simgpu
