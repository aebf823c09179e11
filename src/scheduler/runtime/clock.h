// Clocks of the service. Private.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/units.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Returns the time for the cache and for waits, by a monotonic clock.
inline engine::Instant now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

// Returns nanoseconds since 1970, for annotations.
inline std::int64_t wallNanoseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// Adds the seconds of its lifetime to a histogram, which outlives it.
class Stopwatch {
 public:
  explicit Stopwatch(metrics::Histogram* into) : into_(into) {}
  ~Stopwatch() {
    const auto took = std::chrono::steady_clock::now() - began_;
    into_->add(std::chrono::duration<double>(took).count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  metrics::Histogram* into_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace divvy::scheduler
