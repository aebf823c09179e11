// Instants and spans as the service counts them. Private.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/units.h"
#include "telemetry/metrics.h"

namespace divvy::scheduler {

// Of the books and of who waits: it never goes back.
inline engine::Instant now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

// Since 1970, as annotations have it.
inline std::int64_t wallNanoseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// From here to the end of the block.
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
