// Rows of the file, as callers of the store see them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "file/database.h"
#include "history/records.h"
#include "history/series.h"
#include "history/usage.h"
#include "points/read_plan.h"

namespace divvy::history {

// A series as the file has it.
struct FoundSeries {
  std::uint32_t id = 0;
  SeriesType type = SeriesType::kGauge;
};

// Errors of all: kIo, kCorrupt.
Result<std::optional<FoundSeries>> findSeries(Database& database, const SeriesKey& key);
Result<std::vector<SeriesKey>> findKeys(Database& database, const std::string& kind,
                                        const std::string& object);
// Puts the points of a written tier into the column.
Result<void> readChunks(Database& database, std::uint32_t series, const ReadPlan& plan,
                        PlannedColumn& column);
// As Store::usage() and Store::devices().
Result<void> readUsage(Database& database, std::int64_t from_hour, std::int64_t to_hour,
                       const std::function<bool(const UsageRow&)>& each);
Result<void> readDevices(Database& database, std::int64_t from_hour, std::int64_t to_hour,
                         const std::function<bool(const DeviceHour&)>& each);
Result<std::vector<StoredEvent>> readEvents(Database& database, const EventQuery& query);
Result<std::vector<ObjectRecord>> readObjects(Database& database,
                                              std::span<const std::string> uids);
// Returns the first instant of which a point is written.
Result<std::optional<Instant>> oldestPoint(Database& database);

}  // namespace divvy::history
