// The points of one series at one resolution, coded, for a limited time.
#pragma once

#include <functional>
#include <string>

#include "points/chunk_codec.h"

namespace divvy::history {

// Takes a point and the instant at which it begins.
using PointSink = std::function<void(Instant, const Point&)>;

// A chunk that still takes points: those of one aligned length of time.
struct OpenChunk {
  Instant start{};
  ChunkPoints points{};
  bool empty = true;

  // Sets the point of `time`, which lies in the chunk; the first one sets the chunk's start.
  void put(Instant time, Span step, const Point& point);
  void clear() { *this = {}; }
  // Calls `sink` for each point that has a value and begins in [from, to).
  void read(Span step, Instant from, Instant to, const PointSink& sink) const;
};

// Not thread-safe.
class MemoryTier {
 public:
  // Keeps points that are `step` apart, for `keep`.
  MemoryTier(Span step, Span keep) : step_(step), keep_(keep) {}

  // Adds a point. `time` is a multiple of the step and later than all before.
  void put(Instant time, const Point& point);
  // Removes chunks that end before `now` - keep.
  void trim(Instant now);
  void clear();
  // Calls `sink` for each point in [from, to), ascending.
  void read(Instant from, Instant to, const PointSink& sink) const;

 private:
  Span chunkSpan() const { return step_ * static_cast<int>(kChunkPoints); }

  Span step_;
  Span keep_;
  OpenChunk open_;
  std::string sealed_;  // records, ascending: the chunk's number, its length, its bytes
};

}  // namespace divvy::history
