#include "cuda/context/variant.h"

namespace divvy::simgpu {

const bool kReentrant = true;

}  // namespace divvy::simgpu
