// Maximum of many numbers, and the first index that holds it, while single numbers change.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace divvy::engine {

// Each node has sixteen children: one cache line. A change mostly touches only that line.
// Places must be below the size of the last build(). Not thread-safe.
class TournamentTree {
 public:
  // Replaces all values.
  void build(const std::vector<std::uint32_t>& values) {
    height_ = 0;
    std::size_t size = 0;
    for (std::size_t width = values.size();; width = (width + kWide - 1) / kWide) {
      from_[height_++] = size;
      if (width == 1 && height_ > 1) break;
      width = std::max<std::size_t>((width + kWide - 1) / kWide, 1) * kWide;  // whole groups
      size += width;
    }
    all_.assign(size + 1, 0);
    std::copy(values.begin(), values.end(), all_.begin());
    for (std::size_t level = 1; level < height_; ++level) {
      const std::size_t width =
          level + 1 < height_ ? from_[level + 1] - from_[level] : all_.size() - from_[level];
      const std::size_t below = (from_[level] - from_[level - 1]) / kWide;
      for (std::size_t i = 0; i < std::min(width, below); ++i) {
        all_[from_[level] + i] = largest(level - 1, i);
      }
    }
  }
  void set(std::size_t place, std::uint32_t value) {
    for (std::size_t level = 0; level + 1 < height_; ++level) {
      std::uint32_t& at = all_[from_[level] + place];
      const std::uint32_t before = at;
      if (before == value) return;
      at = value;
      place /= kWide;
      const std::uint32_t above = all_[from_[level + 1] + place];
      // It was not the maximum and does not become it.
      if (before < above && value <= above) return;
      value = largest(level, place);
    }
    all_.back() = value;
  }
  // Prefetches the line of a place that set() will change.
  void expect(std::size_t place) const { __builtin_prefetch(all_.data() + place, 1); }
  std::uint32_t at(std::size_t place) const { return all_[place]; }
  std::uint32_t best() const { return all_.back(); }
  // Returns the first place that holds best().
  std::size_t winner() const {
    std::size_t place = 0;
    for (std::size_t level = height_ - 1; level-- > 0;) {
      place *= kWide;
      while (all_[from_[level] + place] != best()) ++place;
    }
    return place;
  }

 private:
  static constexpr std::size_t kWide = 16;

  std::uint32_t largest(std::size_t level, std::size_t group) const {
    const std::uint32_t* from = all_.data() + from_[level] + group * kWide;
    std::uint32_t result = from[0];
    for (std::size_t i = 1; i < kWide; ++i) result = std::max(result, from[i]);
    return result;
  }

  // The levels one after another, leaves first, the root last.
  std::vector<std::uint32_t> all_ = std::vector<std::uint32_t>(kWide + 1);
  std::array<std::size_t, 10> from_ = {0, kWide};
  std::size_t height_ = 2;
};

}  // namespace divvy::engine
