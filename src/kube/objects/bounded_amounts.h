// Amounts in registrations, bounded by more than any device has. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/members.h"

namespace divvy::kube {

// Beyond any device; sums of such numbers do not overflow.
inline constexpr std::int64_t kMaxMebibytes = 1 << 30;
inline constexpr std::int64_t kMaxCores = 100'000;
inline constexpr std::int64_t kMaxCount = 1 << 20;

// Reads a whole number from 0 to `most`; an absent member leaves `out` unchanged.
template <typename T>
void count(Members& from, std::string_view name, std::int64_t most, T* out) {
  std::int64_t value = *out;
  from.number(name, &value);
  if (value < 0 || value > most)
    return from.fail(name, "a whole number from 0 to " + std::to_string(most));
  *out = static_cast<T>(value);
}

}  // namespace divvy::kube
