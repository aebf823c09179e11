// Time as the oracle of a fuzz target: what one input may cost in processor time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace divvy {

// What sanitizers and missing optimisation may cost. Measured with both sanitizers: 21 for a sweep
// over a tenant's slots.
inline constexpr int kSlowBuild = 25;
inline constexpr int kMeasurements = 4;

inline std::chrono::nanoseconds processorTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Aborts if `work`, which has to be repeatable, costs more than `bound` of an optimised build. It
// is measured again before it counts as too slow, and the cheapest measurement decides: other
// programs on the machine do not make it fail.
template <typename Work>
void costsAtMost(std::chrono::nanoseconds bound, const char* what, const Work& work) {
  std::chrono::nanoseconds cheapest = std::chrono::nanoseconds::max();
  for (int i = 0; i < kMeasurements; ++i) {
    const std::chrono::nanoseconds before = processorTime();
    work();
    cheapest = std::min(cheapest, processorTime() - before);
    if (cheapest <= bound * kSlowBuild) return;
  }
  std::fprintf(stderr, "%s: %.3f ms of processor time; accepted: %.3f\n", what,
               static_cast<double>(cheapest.count()) / 1e6,
               static_cast<double>((bound * kSlowBuild).count()) / 1e6);
  std::abort();
}

}  // namespace divvy
