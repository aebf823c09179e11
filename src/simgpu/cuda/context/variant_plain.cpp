#include "cuda/context/variant.h"

namespace divvy::simgpu {

const bool kReentrant = false;

}  // namespace divvy::simgpu
