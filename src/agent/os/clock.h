// Instants in milliseconds.
#pragma once

#include <cstdint>

namespace divvy::agent {

inline constexpr std::uint64_t kNanosPerMs = 1'000'000;

// Milliseconds of CLOCK_MONOTONIC.
std::uint64_t nowMs();
// Milliseconds since 1970.
std::int64_t wallMs();

}  // namespace divvy::agent
