// Collectives of a warp: shuffles, votes, matches, reductions.
#pragma once

#include <bit>
#include <cstring>
#include <functional>

#include "block.h"

namespace divvy::ptxhost {

enum WarpKind : unsigned { kShuffle, kVote, kMatch, kReduce, kSync };

template <typename T>
std::uint64_t wordOf(const T& value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

// The value of lane `from` if that is in this thread's reach, else its own.
template <typename T>
T shuffled(unsigned mask, const T& value, unsigned from, bool in_reach) {
  const Gathered& all = meetWarp(kShuffle, mask, wordOf(value));
  T result = value;
  if (in_reach) std::memcpy(static_cast<void*>(&result), &all.values[from], sizeof result);
  return result;
}

inline unsigned lanesWhere(unsigned mask, const std::function<bool(unsigned)>& holds) {
  unsigned lanes = 0;
  for (unsigned at = 0; at < 32; ++at) {
    if ((mask >> at & 1U) != 0 && holds(at)) lanes |= 1U << at;
  }
  return lanes;
}

template <typename T, typename Combine>
T reduced(unsigned mask, T value, Combine combine) {
  const Gathered& all = meetWarp(kReduce, mask, wordOf(value));
  bool first = true;
  T result = {};
  for (unsigned at = 0; at < 32; ++at) {
    if ((mask >> at & 1U) == 0) continue;
    const T other = static_cast<T>(all.values[at]);
    result = first ? other : combine(result, other);
    first = false;
  }
  return result;
}

}  // namespace divvy::ptxhost

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned segment = divvy::ptxhost::lane() & ~static_cast<unsigned>(width - 1);
  const unsigned lane = segment | (static_cast<unsigned>(from) & static_cast<unsigned>(width - 1));
  return divvy::ptxhost::shuffled(mask, value, lane, true);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = divvy::ptxhost::lane();
  const bool in_reach = (lane & static_cast<unsigned>(width - 1)) >= by;
  return divvy::ptxhost::shuffled(mask, value, lane - by, in_reach);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = divvy::ptxhost::lane();
  const bool in_reach =
      (lane & static_cast<unsigned>(width - 1)) + by < static_cast<unsigned>(width);
  return divvy::ptxhost::shuffled(mask, value, lane + by, in_reach);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
  const unsigned lane = divvy::ptxhost::lane();
  const unsigned last = lane | static_cast<unsigned>(width - 1);
  const unsigned from = lane ^ static_cast<unsigned>(by);
  return divvy::ptxhost::shuffled(mask, value, from, from <= last);
}

inline unsigned __ballot_sync(unsigned mask, int vote) {
  const auto& all = divvy::ptxhost::meetWarp(divvy::ptxhost::kVote, mask, vote != 0);
  return divvy::ptxhost::lanesWhere(mask, [&](unsigned at) { return all.values[at] != 0; });
}
inline int __any_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) != 0;
}
inline int __all_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) == mask;
}
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  divvy::ptxhost::meetWarp(divvy::ptxhost::kSync, mask, 0);
}
// Lanes that run together: on this host, one.
inline unsigned __activemask() {
  return 1U << divvy::ptxhost::lane();
}

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  const std::uint64_t mine = divvy::ptxhost::wordOf(value);
  const auto& all = divvy::ptxhost::meetWarp(divvy::ptxhost::kMatch, mask, mine);
  return divvy::ptxhost::lanesWhere(mask, [&](unsigned at) { return all.values[at] == mine; });
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int* agreed) {
  *agreed = __match_any_sync(mask, value) == mask;
  return *agreed != 0 ? mask : 0;
}

template <typename T>
T __reduce_add_sync(unsigned mask, T value) {
  return divvy::ptxhost::reduced(mask, value, std::plus<T>());
}
template <typename T>
T __reduce_min_sync(unsigned mask, T value) {
  return divvy::ptxhost::reduced(mask, value, [](T a, T b) { return std::min(a, b); });
}
template <typename T>
T __reduce_max_sync(unsigned mask, T value) {
  return divvy::ptxhost::reduced(mask, value, [](T a, T b) { return std::max(a, b); });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return divvy::ptxhost::reduced(mask, value, std::bit_and<unsigned>());
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return divvy::ptxhost::reduced(mask, value, std::bit_or<unsigned>());
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return divvy::ptxhost::reduced(mask, value, std::bit_xor<unsigned>());
}
