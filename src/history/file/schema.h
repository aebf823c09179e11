// The tables of the history's file, and their versions.
#pragma once

#include "file/database.h"

namespace divvy::history {

inline constexpr int kSchemaVersion = 2;

// Returns the version of the file's tables; 0: there are none. Changes nothing. kUnsupported: a
// newer version, or the file of another program; kCorrupt: no database.
Result<int> readVersion(Database& database);

// Sets up a connection that writes: WAL, sizes, the most pages that the file may have.
Result<void> configureWriter(Database& database, std::int64_t max_bytes);

// Brings the tables from `version` to kSchemaVersion, each step in a transaction. `epoch` is for a
// file without tables.
Result<void> migrate(Database& database, int version, std::uint64_t epoch);

// Checks the file's structure for at most `budget_ms` of time; what is not checked by then counts
// as good. kCorrupt.
Result<void> checkStructure(Database& database, int budget_ms);

}  // namespace divvy::history
