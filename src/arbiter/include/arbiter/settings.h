// What an arbiter and the tenants that it gates agree on.
#pragma once

#include <cstdint>

#include "arbiter/policy.h"
#include "arbiter/residency.h"
#include "ledger/layout.h"

namespace divvy::arbiter {

struct Settings {
  Constants constants;
  ResidencyConstants residency;
  std::uint32_t beat_ms = 500;    // how often a gated tenant hears that the agent lives
  std::uint32_t lease_ms = 2000;  // without a beat for this long it runs ungated
  std::uint32_t escape_ms =
      100;  // work in flight that does not end for this long may need a waiter
  std::uint32_t spin_us = 20;
  std::uint32_t card_permille = 1000;  // speed of the cards' clock against CLOCK_MONOTONIC
  // Whether to wait on many futexes at once (Linux 5.16). Without, or where the kernel has none,
  // gated tenants are looked at every 500 us.
  bool wait_on_many = true;
};

// For cards whose clock runs `speed` times as fast as CLOCK_MONOTONIC (0.001 to 1000; simulated
// ones may): everything that is meant in the cards' time lasts 1/speed as long. What has to do with
// processes and the agent's life stays.
Settings atSpeed(const Settings& settings, double speed);

}  // namespace divvy::arbiter
