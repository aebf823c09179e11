// The tables of the history's file, and their versions.
#pragma once

#include "file/database.h"

namespace divvy::history {

inline constexpr int kSchemaVersion = 2;

// Sets up a connection that writes: WAL, sizes, the most pages that the file may have.
Result<void> configureWriter(Database& database, std::int64_t max_bytes);

// Creates the tables, or migrates those of an older version, each in a transaction. Returns the
// version that was there; 0: none. kUnsupported: a newer version, or the file of another program.
Result<int> prepareSchema(Database& database, std::uint64_t epoch);

// Checks the file's structure for at most `budget_ms` of time; what is not checked by then counts
// as good. kCorrupt.
Result<void> checkStructure(Database& database, int budget_ms);

}  // namespace divvy::history
