// Batches as rows of the file.
#pragma once

#include "file/database.h"
#include "points/batch.h"

namespace divvy::history {

// How a write ended; the message is that of the first failure.
struct WriteResult {
  Outcome outcome = Outcome::kDone;
  std::string message;
};

// Writes the batch in one transaction. Rows that are there already are merged: points that have a
// value replace older ones, amounts are added. After a failure nothing of it is written.
WriteResult writeBatch(Database& database, const Batch& batch);

}  // namespace divvy::history
