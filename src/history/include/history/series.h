// Time series: their names, the values that are put in, and the tables that are read out.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/instant.h"

namespace divvy::history {

// Names one series. `object` is a UID, never a name: a pod may come back under the same name.
struct SeriesKey {
  std::string kind{};    // "device", "share", "queue": at most 32 bytes
  std::string object{};  // at most 128 bytes
  std::string metric{};  // with its unit, as "memory_used_bytes": at most 64 bytes

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

// A series of one store. It ends with the store, and 24 hours after the last value: call
// Store::series() again at least that often.
enum class SeriesId : std::uint32_t {};

// The kind of a series' values.
enum class SeriesType {
  kGauge,    // an amount at an instant
  kCounter,  // readings of a counter; the series keeps its increase, in thousandths of a unit per
             // second (counter.h)
};

// One value. Absent values are left out; zero is a value. Values beyond +-kMaxValue are cut.
struct Sample {
  SeriesId series{};
  std::int64_t value = 0;
};
inline constexpr std::int64_t kMaxValue = std::int64_t{1} << 52;

// The resolutions, from fine to coarse.
enum class Tier {
  kFiveSeconds,  // in memory, 15 minutes
  kMinute,       // in memory, 6 hours; written each minute, so that a restart keeps it
  kFiveMinutes,  // written, 14 days
  kHour,         // written, 400 days
};
// Returns the time between two points of the tier, and how long it keeps them.
Span stepOf(Tier tier);
Span retentionOf(Tier tier);

// The range of a read: [from, to), as at most `max_points` points (2 to kMaxPoints).
struct ReadRange {
  Instant from{};
  Instant to{};
  std::size_t max_points = 500;
};
inline constexpr std::size_t kMaxPoints = 20'000;

// One series of a table: as many entries as the table has times. Nothing: no value is known.
struct SeriesColumn {
  bool known = false;  // false: the store never had this series
  std::vector<std::optional<std::int64_t>> mean;
  std::vector<std::optional<std::int64_t>> max;
};

// Columns of series at the same times. A point stands for [time, time + step).
struct SeriesColumns {
  Tier tier = Tier::kFiveSeconds;
  Span step{};  // a multiple of the tier's step
  std::vector<Instant> times;
  std::vector<SeriesColumn> columns;  // in the order of the keys
};

}  // namespace divvy::history
