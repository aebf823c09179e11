// The part of the card file that belongs to the engines (owner: the execution half).
#pragma once

#include <cstddef>

namespace divvy::simgpu {

// Per card. Zero bytes are a valid initial state. Touched under CardLock unless its owner says else.
struct EngineShared {
  alignas(64) std::byte space[64 << 10];
};

// Per process on a card. Zeroed when the record is claimed and again when it is swept.
struct EngineProcess {
  alignas(64) std::byte space[2048];
};

}  // namespace divvy::simgpu
