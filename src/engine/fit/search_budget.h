// Cost limits of searches (planOn): on one node, and in one decision over all nodes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/engine.h"

namespace divvy::engine {

inline constexpr std::uint32_t kTriesOfNode = 2'000;
// So many devices added to a group cost as much as one try.
inline constexpr std::uint32_t kGroupTriesOfOne = 16;
// For gangs and for victims, which need many decisions.
inline constexpr std::uint32_t kTriesOfGang = 2 * kTriesOfDecision;

// A search that has begun may continue to kTriesOfNode, so that its answer depends on the node and
// the shape only. No search begins once the budget is spent.
class SearchBudget {
 public:
  void refill(std::uint32_t tries) { left_ = tries; }
  bool spent() const { return left_ == 0; }
  void spend(std::uint32_t tries) {
    left_ -= std::min(tries, left_);
    total_ += tries;
  }
  // Tries since the engine was constructed.
  std::uint64_t total() const { return total_; }

 private:
  std::uint32_t left_ = kTriesOfDecision;
  std::uint64_t total_ = 0;
};

}  // namespace divvy::engine
