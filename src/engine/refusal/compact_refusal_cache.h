// Refusals of one shape by node, kept until the node changes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/compact_refusal.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

// Not thread-safe.
class CompactRefusalCache {
 public:
  // Drops the entry of a slot.
  void drop(Slot slot) {
    if (slot < known_.size()) known_[slot] = 0;
  }

  // Returns an index in different(), or CompactRefusals::kNone if the node fits. `make` computes an
  // entry that is missing; none: the node fits.
  template <typename Make>
  std::uint32_t of(Slot slot, const Make& make) {
    if (slot >= known_.size()) known_.resize(slot + 1, 0);
    std::uint16_t& place = known_[slot];
    if (place == 0) {
      const std::optional<CompactRefusal> brief = make();
      // Not kept, so the node is searched again next time.
      if (brief && brief->why == NodeWhy::kNotSearched)
        return static_cast<std::uint32_t>(placeOf(*brief));
      place = brief ? static_cast<std::uint16_t>(kFirst + placeOf(*brief)) : kFits;
    }
    return place == kFits ? CompactRefusals::kNone : place - kFirst;
  }
  const std::vector<CompactRefusal>& different() const { return different_; }

 private:
  static constexpr std::uint16_t kFits = 1, kFirst = 2;

  // The number of entries is small: it is bounded by reasons, kinds, and containers of one shape.
  std::size_t placeOf(const CompactRefusal& brief) {
    for (std::size_t i = 0; i < different_.size(); ++i)
      if (different_[i] == brief) return i;
    different_.push_back(brief);
    return different_.size() - 1;
  }

  std::vector<std::uint16_t> known_;  // by slot; 0: no entry
  std::vector<CompactRefusal> different_;
};

}  // namespace divvy::engine
