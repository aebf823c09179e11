// An amount of memory. Never a bare integer outside wire formats.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy {

// Unsigned count of bytes; arithmetic saturates (S12: counters never wrap).
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

constexpr Bytes kib(std::uint64_t n) {
  return {n << 10};
}
constexpr Bytes mib(std::uint64_t n) {
  return {n << 20};
}
constexpr Bytes gib(std::uint64_t n) {
  return {n << 30};
}

// Reads "4Gi", "512Mi", "1.5GiB", "800M", "1073741824". Binary suffixes Ki Mi Gi Ti (an optional
// trailing B is allowed), decimal k K M G T, none = bytes. Zero, negative, fractional bytes,
// unknown units and anything over 2^63-1 are kUsage errors that name what is accepted.
Result<Bytes> parseBytes(std::string_view text);

// "4 GiB", "1.5 GiB", "512 B": at most one decimal, the largest binary unit that is >= 1.
std::string formatBytes(Bytes bytes);

}  // namespace divvy
