// Removal of old rows.
#pragma once

#include "file/database.h"
#include "history/instant.h"

namespace divvy::history {

// Removes rows that are older than their tier keeps; usage, events and objects stay as long as hour
// points. Returns how many.
Result<std::int64_t> pruneByAge(Database& database, Instant now);

// Removes the oldest rows until the file's pages in use are at most `max_bytes`, or a bound of work
// is reached. 5-minute points go first, down to a day; then hour points, down to 30 days; then
// events; then what is left of both; usage last. Returns how many rows.
Result<std::int64_t> pruneBySize(Database& database, std::int64_t max_bytes);

// Returns free pages to the file system, a bounded number.
Result<void> returnPages(Database& database);

}  // namespace divvy::history
