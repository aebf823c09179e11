// Amounts that placement counts beside Bytes. Whole thousandths, so that sums are exact.
#pragma once

#include <compare>
#include <cstdint>

namespace divvy::engine {

// Processor time of a node, thousandths of one core.
struct Cpu {
  std::int64_t milli = 0;
  friend constexpr auto operator<=>(Cpu, Cpu) = default;
  friend constexpr Cpu operator+(Cpu a, Cpu b) { return {a.milli + b.milli}; }
};

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
