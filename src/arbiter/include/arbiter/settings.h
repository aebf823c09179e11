// Settings that the arbiter and the tenants that it gates share.
#pragma once

#include <cstdint>

#include "arbiter/policy.h"
#include "arbiter/residency.h"
#include "ledger/layout.h"

namespace divvy::arbiter {

struct Settings {
  Constants constants;
  ResidencyConstants residency;
  std::uint32_t beat_ms = 500;    // interval of the heartbeat to a gated tenant
  std::uint32_t lease_ms = 2000;  // without a heartbeat for this long a tenant runs ungated
  // Work in flight that does not end for this long may depend on a waiting thread.
  std::uint32_t escape_ms = 100;
  std::uint32_t spin_us = 20;
  std::uint32_t card_permille = 1000;  // speed of the devices' clock against CLOCK_MONOTONIC
  // Whether to wait on many futexes at once (Linux 5.16). If false, or without kernel support,
  // gated tenants are polled every 500 us.
  bool wait_on_many = true;
};

// Returns the settings for devices with a clock that runs `speed` times as fast as CLOCK_MONOTONIC
// (0.001 to 1000; simulated cards only). Durations in device time become 1/speed as long. Those of
// processes and of the agent's lease stay.
Settings atSpeed(const Settings& settings, double speed);

}  // namespace divvy::arbiter
