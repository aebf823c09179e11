#include "engine_layout.h"

namespace divvy::simgpu {

void engineProcessGone(EngineShared&, std::uint32_t, std::uint64_t) {}

void engineRecover(EngineShared&) {}

}  // namespace divvy::simgpu
