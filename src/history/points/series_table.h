// All live series, and the passing of time over them. Does no I/O.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "points/batch.h"
#include "points/minute_codec.h"
#include "points/rollup.h"

namespace divvy::history {

// How samples were taken; the meaning is that of StoreStatus.
struct SampleCounts {
  std::int64_t late = 0, future = 0, unknown = 0, clock_jumps = 0;
};

// A minute stays open for kGrace after its end, because samples of one round of polling arrive
// over some seconds. Time follows the caller's clock alone, never the samples. Not thread-safe.
class SeriesTable {
 public:
  static constexpr Span kGrace{10'000};
  static constexpr Span kMaxAhead{5'000};
  // A clock that moves by more than this was set; history before it goes on as it can.
  static constexpr Span kJump{3'600'000};

  SeriesTable(Instant now, std::size_t max_series);

  // Returns the ID of a live series. Nothing: it is not live.
  std::optional<std::uint32_t> find(const SeriesKey& key) const;
  // Makes a series live. Returns false if there are max_series.
  bool insert(std::uint32_t id, const SeriesKey& key, SeriesType type);
  // Adds a sample, after advance() to the same `now`.
  void add(Instant now, Instant time, std::uint32_t id, std::int64_t value);

  // Closes all that has ended by `now`, and puts rows to write into `batch`. Returns true if a
  // minute ended.
  bool advance(Instant now, Batch& batch);
  // Puts the points so far of minutes that have not ended into `batch`.
  void openMinutes(Batch& batch) const;

  // Take over what an earlier process wrote, before the first sample, in this order: the start of
  // the hour of its last minute, hours of that half day, its minutes ascending, and minutes that
  // have not ended. Minutes before `hour` are for memory only. Rows that the earlier process did
  // not come to write go into `batch`.
  void restoreFrom(Instant hour) { closed_until_ = hour; }
  void restoreHour(Instant hour, std::uint32_t id, const ChunkPoints& points);
  void restoreMinute(Instant minute, const MinutePoints& points, Batch& batch);
  void resumeMinute(Instant minute, const MinutePoints& points);
  void finishRestore(Instant now, Batch& batch);

  // Calls `sink` for points in memory, ascending.
  void read(std::uint32_t id, Tier tier, Instant from, Instant to, const PointSink& sink) const;

  std::vector<SeriesKey> keysOf(const std::string& kind, const std::string& object) const;

  Instant closedUntil() const { return closed_until_; }
  // The clock has not jumped since then.
  Instant steadyFrom() const { return steady_from_; }
  std::size_t size() const { return entries_.size(); }
  const SampleCounts& counts() const { return counts_; }

 private:
  struct Entry {
    SeriesKey key;
    Rollup rollup;
    Instant created{};
    Instant seen_day = Instant::min();  // that was put into a batch
  };
  void closeOneMinute(Batch& batch);
  void closeBoundaries(Instant now, Batch& batch);
  void closeHours(Instant now, Instant start, Batch& batch);
  void closeBlocks(Instant start, Batch& batch);
  // Writes what is open and starts again at an earlier time.
  void rewind(Instant now, Batch& batch);

  std::map<SeriesKey, std::uint32_t> ids_;
  std::map<std::uint32_t, Entry> entries_;
  std::size_t max_series_;
  Instant closed_until_;
  Instant newest_minute_ = Instant::min();  // that has a sample
  bool five_open_ = false, hour_open_ = false, block_open_ = false;
  Instant steady_from_;
  SampleCounts counts_;
};

}  // namespace divvy::history
