// Random numbers that are the same on every machine for the same seed. Whoever needs chance is
// handed one of these; nobody keeps one to himself.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace divvy {

// Spreads bits: neighbouring inputs give unrelated outputs (splitmix64's finisher).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Of a text, the same everywhere and always: it may be kept.
constexpr std::uint64_t stableHash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mixed(hash);
}

class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }

  // Uniform in [0, bound); bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t skewed = (0 - bound) % bound;  // so many of the lowest would come too often
    std::uint64_t drawn = next();
    while (drawn < skewed) drawn = next();
    return drawn % bound;
  }

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
