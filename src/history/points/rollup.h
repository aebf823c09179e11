// One live series: its points in memory, and how fine points become coarser ones.
#pragma once

#include <optional>

#include "history/counter.h"
#include "history/series.h"
#include "points/memory_tier.h"

namespace divvy::history {

// A point of the present is in a bucket until its time has passed. SeriesTable closes the times of
// all series together: closeMinute, then closeFiveMinutes, closeHour and closeBlock where the time
// is a multiple of theirs. Not thread-safe.
class Rollup {
 public:
  // Hour points of half a day are written as one chunk.
  static constexpr Span kBlock = Span(12 * 3'600'000);

  explicit Rollup(SeriesType type) : type_(type) {}

  // Adds a value; `time` is at most one minute after the minute that is closed next. Returns false
  // for a value that is not later than the last one.
  bool add(Instant time, std::int64_t value);
  // Adds a point of a minute that was written by an earlier process and is not closed yet.
  void resume(Instant minute, const Point& point);

  // Returns the point so far of a minute that is not closed.
  Point openMinute(Instant minute) const;
  // Ends the minute that begins at `minute`, and returns its point.
  Point closeMinute(Instant minute);
  // Does closeMinute() for a point that an earlier process wrote.
  void restoreMinute(Instant minute, const Point& point, bool only_memory);
  // Does closeFiveMinutes() and closeHour() for an hour that an earlier process wrote.
  void restoreHour(Instant hour, const ChunkPoints& points);
  // End the time that begins at `start`, or the open half day. A chunk is returned if it has a
  // value.
  void closeFiveMinutes(Instant start);
  std::optional<std::string> closeHour(Instant start);
  std::optional<std::string> closeBlock();

  // Calls `sink` for the points of the tier in [from, to) that are in memory, ascending.
  void read(Tier tier, Instant from, Instant to, const PointSink& sink) const;
  // Removes what is older than the memory tiers keep.
  void trim(Instant now);
  // Forgets all points.
  void clear();

  SeriesType type() const { return type_; }
  // The latest value's time, of this process or restored.
  Instant last() const { return last_; }

 private:
  // A bucket with the time at which it begins.
  struct Timed {
    Instant start{};
    Bucket bucket;
  };
  // A chunk that is being written: reads need it until it is in the file.
  struct Sealed {
    Instant start{};
    std::string bytes;
  };
  void closeSlot();
  void closeOpenMinute();
  static void readSealed(const Sealed& sealed, Span step, Instant from, Instant to,
                         const PointSink& sink);

  SeriesType type_;
  Instant last_ = Instant::min();
  CounterReadings readings_;
  Timed slot_;          // of 5 s
  Timed minute_;        // of the latest value
  Timed ended_minute_;  // the one before, until it is closed
  Timed five_, hour_;
  OpenChunk five_minutes_, hours_;
  Sealed sealed_five_minutes_, sealed_hours_;
  MemoryTier seconds_{stepOf(Tier::kFiveSeconds), retentionOf(Tier::kFiveSeconds)};
  MemoryTier minutes_{stepOf(Tier::kMinute), retentionOf(Tier::kMinute)};
};

}  // namespace divvy::history
