// What an earlier process wrote, for the series table of this one.
#pragma once

#include "file/database.h"
#include "points/series_table.h"

namespace divvy::history {

// Fills a new table with the minutes of the last 6 hours, so that its tiers go on as if the process
// had not ended. Rows that the earlier process did not come to write go into `batch`. Errors of the
// file: kIo, kCorrupt.
Result<void> restoreTable(Database& database, Instant now, SeriesTable& table, Batch& batch);

// Returns the first ID that no series has.
Result<std::uint32_t> firstFreeId(Database& database);

}  // namespace divvy::history
