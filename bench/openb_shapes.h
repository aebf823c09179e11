// What pods of a production cluster ask for, and how often: each kind once.
#pragma once

#include <cstdint>
#include <vector>

namespace divvy::bench {

struct OpenbShape {
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
  std::uint32_t gpus;
  std::int32_t gpu_milli;  // of each
  const char* models;      // joined by '|'; "": any
  std::uint32_t count;
};

const std::vector<OpenbShape>& openbShapes();

}  // namespace divvy::bench
