// Amounts of memory. Code uses Bytes, and bare integers only in wire formats.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// A count of bytes. Sums saturate at UINT64_MAX and differences at 0 (S12: counters never wrap).
struct Bytes {
  std::uint64_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    const std::uint64_t sum = a.count + b.count;
    return {sum < a.count ? UINT64_MAX : sum};
  }
  friend constexpr Bytes operator-(Bytes a, Bytes b) {
    return {a.count > b.count ? a.count - b.count : 0};
  }
};

// Return n KiB, MiB or GiB. The product must fit 64 bits.
constexpr Bytes kib(std::uint64_t n) {
  return {n << 10};
}
constexpr Bytes mib(std::uint64_t n) {
  return {n << 20};
}
constexpr Bytes gib(std::uint64_t n) {
  return {n << 30};
}

// Parses an amount: "4Gi", "512Mi", "1.5GiB", "800M", "1073741824". Suffixes: binary Ki Mi Gi Ti,
// also with B behind; decimal k K M G T; B or none for bytes. The result is 1 to 2^63-1.
// kUsage: zero, a negative number, a fraction of a byte, more than nine decimals, an unknown unit,
// or too large a number. The message names the accepted forms.
Result<Bytes> parseBytes(std::string_view text);

// Returns the amount in the largest binary unit up to PiB of which there is at least one. It has at
// most one decimal: "4 GiB", "1.5 GiB", "512 B".
std::string formatBytes(Bytes bytes);

}  // namespace divvy
