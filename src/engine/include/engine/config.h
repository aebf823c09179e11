// What an engine does with requests that do not say it themselves.
#pragma once

#include <cstdint>

#include "engine/device_policy.h"
#include "engine/policy.h"
#include "engine/usage_by_hour.h"

namespace divvy::engine {

// Whose scores kBinpack, kSpread and the orders of devices are.
enum class Compat : std::uint8_t {
  kNone,
  // HAMi's, bit by bit where its tests say: nodes by what is used before the request comes; of
  // equal devices the last; kTightest is kSpread; whom mutex put on a device may get company later.
  kHami,
};

struct Config {
  Policy policy = Policy::kDivvy;
  std::uint64_t seed = 0;  // of Policy::kRandom
  DevicePolicy devices{};
  Weights weights{};
  Compat compat = Compat::kNone;
  UsageByHourPolicy daily{};  // with Compat::kHami and Policy::kRandom nothing is done with it
};

}  // namespace divvy::engine
