// Amounts that placement counts beside Bytes. Whole thousandths, so that sums are exact.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace divvy::engine {

// Processor time of a node, thousandths of one core; at least 0. A sum saturates at the largest
// value.
struct Cpu {
  std::int64_t milli = 0;
  friend constexpr auto operator<=>(Cpu, Cpu) = default;
  friend constexpr Cpu operator+(Cpu a, Cpu b) {
    return {a.milli + std::min(b.milli, INT64_MAX - a.milli)};
  }
};

// The most that the engine accepts for one container and for one node: about a thousand million
// cores, 1 PiB. Sums over all pods of a cluster stay below 2^63.
inline constexpr Cpu kMaxCpu{std::int64_t{1} << 40};
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

// Compute of one device, thousandths of it.
struct Compute {
  std::int32_t milli = 0;
  friend constexpr auto operator<=>(Compute, Compute) = default;
};
inline constexpr Compute kWholeDevice{1000};

// An instant on the caller's clock; the engine has none of its own.
struct Instant {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
};

}  // namespace divvy::engine
