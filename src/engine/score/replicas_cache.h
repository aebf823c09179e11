// How many replicas of one shape fit, by node, kept until the node changes. Private.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "nodes/hot_state.h"

namespace divvy::engine {

// Not thread-safe. Holds a bounded number of variants (ReplicaTerms); the one that was not used for
// the longest time goes first.
class ReplicasCache {
 public:
  static constexpr std::size_t kMaxVariants = 3;

  // The counts of one variant, by slot.
  class Counts {
   public:
    explicit Counts(std::uint64_t variant) : variant_(variant) {}

    std::optional<std::uint32_t> at(Slot slot) const {
      if (slot >= known_.size() || known_[slot] == 0) return std::nullopt;
      return known_[slot] - 1;
    }
    void set(Slot slot, std::uint32_t count) {
      if (slot >= known_.size()) known_.resize(slot + 1, 0);
      known_[slot] = count + 1;
    }
    void drop(Slot slot) {
      if (slot < known_.size()) known_[slot] = 0;
    }

   private:
    friend class ReplicasCache;
    std::uint64_t variant_;
    std::vector<std::uint32_t> known_;  // the count and 1; 0: not known
  };

  // Drops the counts of a slot.
  void drop(Slot slot) {
    for (Counts& counts : variants_) counts.drop(slot);
  }
  // Valid until the next call.
  Counts& of(std::uint64_t variant) {
    const auto known = std::find_if(variants_.begin(), variants_.end(), [&](const Counts& counts) {
      return counts.variant_ == variant;
    });
    if (known != variants_.end()) {
      std::rotate(known, known + 1, variants_.end());
    } else {
      if (variants_.size() == kMaxVariants) variants_.erase(variants_.begin());
      variants_.emplace_back(variant);
    }
    return variants_.back();
  }

 private:
  std::vector<Counts> variants_;  // the last one was used last
};

}  // namespace divvy::engine
