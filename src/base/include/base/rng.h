// Random numbers that are equal on every machine for equal seeds. A caller passes its Rng to each
// function that draws; no module keeps one of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace divvy {

// Spreads bits, so that neighbouring inputs give unrelated outputs. Source: splitmix64's finaliser.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns a hash of the text that is equal on every machine and in every release, so it may be
// stored.
constexpr std::uint64_t stableHash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mixed(hash);
}

// A random number generator (splitmix64). Not thread-safe; not for secrets.
class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed) : state_(seed) {}

  // Returns the next number, uniform in all 64 bits.
  constexpr std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }

  // Returns a number that is uniform in [0, bound). Requires bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t skewed =
        (0 - bound) % bound;  // this many of the lowest numbers would be too frequent
    std::uint64_t drawn = next();
    while (drawn < skewed) drawn = next();
    return drawn % bound;
  }

  // Brings the items into a random order; each order is equally likely.
  template <typename T>
  constexpr void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace divvy
