// Pages that a mapping will need, had at once.
#pragma once

#include <cstddef>

namespace divvy::simgpu {

// Memory for [at, at + bytes) of a writable mapping, or false: there is not as much. Kernels before
// 5.14 do not know the call and are trusted.
bool populate(void* at, std::size_t bytes);

}  // namespace divvy::simgpu
