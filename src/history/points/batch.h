// What waits to be written, in one transaction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history/records.h"
#include "history/series.h"
#include "history/usage.h"

namespace divvy::history {

struct NewSeries {
  std::uint32_t id = 0;
  SeriesKey key;
  SeriesType type = SeriesType::kGauge;
};

struct ChunkRow {
  Tier tier = Tier::kFiveMinutes;
  Instant start{};
  std::uint32_t series = 0;
  std::string bytes;
};

struct Batch {
  // The most that waits; what is beyond it is dropped, the oldest points first.
  static constexpr std::size_t kMaxEvents = 10'000;
  static constexpr std::size_t kMaxObjects = 100'000;
  static constexpr std::size_t kMaxUsage = 200'000;
  static constexpr std::size_t kMaxPoints = 1'000'000;
  static constexpr std::size_t kMaxMinuteBytes = std::size_t{64} << 20;

  std::map<std::uint32_t, NewSeries> series;
  std::map<std::uint32_t, Instant> seen;   // series that had a value, once a day
  std::map<Instant, std::string> minutes;  // encoded
  std::vector<ChunkRow> chunks;
  std::map<UsageKey, UsageAmounts> usage;
  std::map<DeviceHourKey, DeviceHour> devices;
  std::vector<Event> events;
  std::map<std::string, ObjectRecord> objects;

  bool empty() const;
  // Takes over what `newer` has; where both have a row, the amounts are added, and texts that are
  // not empty and later times win. Returns how many rows were dropped.
  std::size_t absorb(Batch&& newer);
  // Return false for what was dropped.
  bool add(Event event);
  bool see(ObjectRecord object);
  bool addUsage(const UsageRow& row);
  bool addDevice(const DeviceHour& row);
};

}  // namespace divvy::history
