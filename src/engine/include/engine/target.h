// The requests that are expected: what fragmentation is measured against.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

struct TargetClass {
  Cpu cpu;
  Compute compute;                // of each device
  std::uint32_t count = 0;        // devices
  std::vector<ModelName> models;  // exactly these will do; empty: any
  std::uint32_t weight = 1;       // how many of them among all
};
using Target = std::vector<TargetClass>;

// Weights add up to no more than this; larger ones are refused.
inline constexpr std::uint64_t kMaxTargetWeight = 1u << 24;
inline constexpr std::size_t kMaxTargetClasses = 1024;

}  // namespace divvy::engine
