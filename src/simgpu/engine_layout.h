// The part of the card file that belongs to the engines (owner: the execution half).
#pragma once

#include <cstddef>
#include <cstdint>

namespace divvy::simgpu {

// Per card. Zero bytes are a valid initial state. Touched under CardLock unless its owner says
// else.
struct EngineShared {
  alignas(64) std::byte space[64 << 10];
};

// Per process on a card. Zeroed when the record is claimed and again when it is swept.
struct EngineProcess {
  alignas(64) std::byte space[2048];
};

// Called under the card's lock, from every library that maps card files, so that the engines stay
// whole whoever notices first: a process died or left / a holder of the lock died within a change.
void engineProcessGone(EngineShared& shared, std::uint32_t pid, std::uint64_t start_time);
void engineRecover(EngineShared& shared);

}  // namespace divvy::simgpu
