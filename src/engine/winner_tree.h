// The largest of many numbers, and of equals the first, kept while single ones change.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace divvy::engine {

class WinnerTree {
 public:
  // Of `values`, by place.
  void build(const std::vector<std::uint32_t>& values) {
    leaves_ = std::bit_ceil(std::max<std::size_t>(values.size(), 1));
    tree_.assign(2 * leaves_, 0);
    std::copy(values.begin(), values.end(), tree_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t i = leaves_ - 1; i > 0; --i) tree_[i] = larger(i);
  }
  void set(std::size_t place, std::uint32_t value) {
    std::size_t i = leaves_ + place;
    for (tree_[i] = value; i > 1;) {
      i /= 2;
      const std::uint32_t winner = larger(i);
      if (tree_[i] == winner) return;
      tree_[i] = winner;
    }
  }
  std::uint32_t at(std::size_t place) const { return tree_[leaves_ + place]; }
  std::uint32_t best() const { return tree_[1]; }
  // Where it is.
  std::size_t winner() const {
    std::size_t i = 1;
    while (i < leaves_) i = 2 * i + (tree_[2 * i] == tree_[i] ? 0 : 1);
    return i - leaves_;
  }

 private:
  std::uint32_t larger(std::size_t i) const { return std::max(tree_[2 * i], tree_[2 * i + 1]); }

  std::size_t leaves_ = 1;
  std::vector<std::uint32_t> tree_ = {0, 0};
};

}  // namespace divvy::engine
