// One point of a series at any resolution.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "history/series.h"

namespace divvy::history {

// Mean and maximum over the point's time. `weight` counts the 5-second points with a value that
// are in it; 0: no value is known. Values are within +-kMaxValue, and max >= mean.
struct Point {
  std::int64_t mean = 0;
  std::int64_t max = 0;
  std::uint32_t weight = 0;

  friend bool operator==(const Point&, const Point&) = default;
};

// The weight of a whole hour. Sums of kMaxValue times it fit 64 bits.
inline constexpr std::uint32_t kMaxWeight = 720;

// Points that a chunk has; tiers keep, code and write whole chunks.
inline constexpr std::size_t kChunkPoints = 12;
using ChunkPoints = std::array<Point, kChunkPoints>;

// Combines points of a finer resolution into one of a coarser one.
class Bucket {
 public:
  void merge(const Point& point) {
    if (point.weight == 0) return;
    max_ = weight_ == 0 ? point.max : std::max(max_, point.max);
    const std::uint32_t taken = std::min(point.weight, kMaxWeight - weight_);
    sum_ += point.mean * static_cast<std::int64_t>(taken);
    weight_ += taken;
  }
  bool empty() const { return weight_ == 0; }
  // The mean is rounded to the nearest; the same points in the same order give the same point.
  Point point() const {
    if (weight_ == 0) return {};
    const auto weight = static_cast<std::int64_t>(weight_);
    std::int64_t mean = sum_ / weight;
    const std::int64_t rest = sum_ % weight;
    if (2 * rest >= weight) ++mean;
    if (2 * rest < -weight) --mean;
    return {mean, max_, weight_};
  }
  void clear() { *this = {}; }

 private:
  std::int64_t sum_ = 0;
  std::int64_t max_ = 0;
  std::uint32_t weight_ = 0;
};

// Returns the latest multiple of `step` since 1970 that is not after `time`.
inline Instant floorTo(Instant time, Span step) {
  const std::int64_t count = time.time_since_epoch().count();
  const std::int64_t size = step.count();
  std::int64_t whole = count / size;
  if (count % size < 0) --whole;
  return Instant(Span(whole * size));
}

}  // namespace divvy::history
