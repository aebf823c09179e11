// What the lanes of a warp do together.
#pragma once

#include <cstdint>

namespace divvy::ptx {

// Inst::kind of instructions that wait for the lanes of a mask.
enum class Collective : std::uint8_t {
  kSync,
  kShuffleUp,
  kShuffleDown,
  kShuffleButterfly,
  kShuffleIndex,
  kVoteAll,
  kVoteAny,
  kVoteUniform,
  kVoteBallot,
  kMatchAny,
  kMatchAll,
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceMinSigned,
  kReduceMaxSigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kElect,
};

// Inst::kind of bar.red.
enum class BarrierReduce : std::uint8_t { kNone, kCount, kAll, kAny };

}  // namespace divvy::ptx
