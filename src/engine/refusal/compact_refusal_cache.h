// Why each node will not do for one shape, kept until the node changes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/compact_refusal.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

class CompactRefusalCache {
 public:
  // What is known of a slot holds no more.
  void forget(Slot slot) {
    if (slot < known_.size()) known_[slot] = 0;
  }

  // A place in different(), or Briefs::kNone. `make`: what is so now, where it is not known.
  template <typename Make>
  std::uint32_t of(Slot slot, const Make& make) {
    if (slot >= known_.size()) known_.resize(slot + 1, 0);
    std::uint16_t& place = known_[slot];
    if (place == 0) {
      const std::optional<CompactRefusal> brief = make();
      // Not kept: it is searched next time.
      if (brief && brief->why == NodeWhy::kNotSearched)
        return static_cast<std::uint32_t>(placeOf(*brief));
      place = brief ? static_cast<std::uint16_t>(kFirst + placeOf(*brief)) : kFits;
    }
    return place == kFits ? CompactRefusals::kNone : place - kFirst;
  }
  const std::vector<CompactRefusal>& different() const { return different_; }

 private:
  static constexpr std::uint16_t kFits = 1, kFirst = 2;

  // There are as many as there are reasons, kinds, and containers of one shape: few.
  std::size_t placeOf(const CompactRefusal& brief) {
    for (std::size_t i = 0; i < different_.size(); ++i)
      if (different_[i] == brief) return i;
    different_.push_back(brief);
    return different_.size() - 1;
  }

  std::vector<std::uint16_t> known_;  // by slot; 0: not known
  std::vector<CompactRefusal> different_;
};

}  // namespace divvy::engine
