// What an engine does with requests that do not say it themselves.
#pragma once

#include <cstdint>

#include "engine/device_policy.h"
#include "engine/policy.h"

namespace divvy::engine {

struct Config {
  Policy policy = Policy::kDivvy;
  std::uint64_t seed = 0;  // of Policy::kRandom
  DevicePolicy devices{};
};

}  // namespace divvy::engine
