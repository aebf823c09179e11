// Creates a file of a tenant directory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.h"

namespace divvy::ledger {

struct NewFile {
  const char* name;
  mode_t mode;
  const void* start;
  std::size_t start_size;
  std::size_t size;       // of the file
  std::size_t allocated;  // backed by storage from the beginning
};

// Creates the file, complete, in the directory open at `dir`. kIo, also if a file of that name
// exists.
Result<void> writeFile(int dir, const NewFile& file);

Error ioError(const std::string& doing, int code);

}  // namespace divvy::ledger
