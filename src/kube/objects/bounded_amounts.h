// Amounts that registrations tell of, within what any device has. Private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/members.h"

namespace divvy::kube {

// More than any device has: sums of such numbers do not overflow.
inline constexpr std::int64_t kMaxMebibytes = 1 << 30;
inline constexpr std::int64_t kMaxCores = 100'000;
inline constexpr std::int64_t kMaxCount = 1 << 20;

// Leaves `out` where the member is absent.
template <typename T>
void count(Members& from, std::string_view name, std::int64_t most, T* out) {
  std::int64_t value = *out;
  from.number(name, &value);
  if (value < 0 || value > most)
    return from.fail(name, "a whole number from 0 to " + std::to_string(most));
  *out = static_cast<T>(value);
}

}  // namespace divvy::kube
