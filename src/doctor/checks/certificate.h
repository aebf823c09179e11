// When certificates end. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

struct Validity {
  std::int64_t from = 0, until = 0;  // seconds since 1970
};

// Of each certificate of a PEM bundle. kCorrupt: it holds none, or something that cannot be read.
Result<std::vector<Validity>> validitiesOf(const std::string& pem);

}  // namespace divvy::doctor
