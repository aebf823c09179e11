// Validity of certificates. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

struct Validity {
  std::int64_t from = 0, until = 0;  // seconds since 1970
};

// Returns the validity of each certificate in a PEM bundle. kCorrupt: none, or one that cannot be
// read.
Result<std::vector<Validity>> validitiesOf(const std::string& pem);

}  // namespace divvy::doctor
