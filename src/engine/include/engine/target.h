// The requests that are expected; fragmentation is measured against them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"

namespace divvy::engine {

struct TargetClass {
  Cpu cpu;
  Compute compute;                // of each device
  std::uint32_t count = 0;        // number of devices
  std::vector<ModelName> models;  // exactly these models fit; empty: any
  std::uint32_t weight = 1;       // number of such requests among all
};
using Target = std::vector<TargetClass>;

// Weights sum to at most this; larger sums are refused.
inline constexpr std::uint64_t kMaxTargetWeight = 1u << 24;
inline constexpr std::size_t kMaxTargetClasses = 1024;

}  // namespace divvy::engine
