// SipHash-2-4: a keyed hash that cannot be computed or forged without the key. Source: J.-P.
// Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012. Pure; also for code inside
// applications.
#pragma once

#include <cstddef>
#include <cstdint>

namespace divvy::ledger {

// All zeros: known to every process.
struct SipKey {
  std::uint64_t words[2];
  friend constexpr bool operator==(const SipKey&, const SipKey&) = default;
};

namespace siphash {

struct State {
  std::uint64_t v0, v1, v2, v3;

  static constexpr std::uint64_t turn(std::uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
  }
  constexpr void round() {
    v0 += v1;
    v1 = turn(v1, 13) ^ v0;
    v0 = turn(v0, 32);
    v2 += v3;
    v3 = turn(v3, 16) ^ v2;
    v0 += v3;
    v3 = turn(v3, 21) ^ v0;
    v2 += v1;
    v1 = turn(v1, 17) ^ v2;
    v2 = turn(v2, 32);
  }
  constexpr void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace siphash

// Hash of `count` whole words, as little-endian bytes.
constexpr std::uint64_t sipHash(const SipKey& key, const std::uint64_t* words, std::size_t count) {
  siphash::State state{key.words[0] ^ 0x736f6d6570736575, key.words[1] ^ 0x646f72616e646f6d,
                       key.words[0] ^ 0x6c7967656e657261, key.words[1] ^ 0x7465646279746573};
  for (std::size_t at = 0; at < count; ++at) state.absorb(words[at]);
  state.absorb(std::uint64_t{count * sizeof *words & 0xff} << 56);
  state.v2 ^= 0xff;
  for (int left = 4; left > 0; --left) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace divvy::ledger
