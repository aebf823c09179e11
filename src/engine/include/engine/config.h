// Defaults of an engine for requests that do not set them.
#pragma once

#include <cstdint>

#include "engine/device_policy.h"
#include "engine/policy.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// Which scores kBinpack, kSpread and the device orders have.
enum class Compat : std::uint8_t {
  kNone,
  // HAMi's, exactly where its tests state them. Nodes are scored by the use before the request.
  // Among equal devices the last goes first; kTightest is kSpread; a device given under mutex may
  // get further tenants later.
  kHami,
};

struct Config {
  Policy policy = Policy::kDivvy;
  std::uint64_t seed = 0;  // for Policy::kRandom
  DevicePolicy devices{};
  Weights weights{};
  Compat compat = Compat::kNone;
  UsageByHourPolicy daily{};  // not used with Compat::kHami and Policy::kRandom
};

}  // namespace divvy::engine
