// How long tenants may be idle, and the consequences. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/share_request.h"

namespace divvy::agent {

// Milliseconds by priority; 0: unlimited.
struct IdleLimits {
  std::array<std::uint64_t, 3> ms{};

  std::uint64_t& of(Priority priority) { return ms.at(static_cast<std::size_t>(priority)); }
  std::uint64_t of(Priority priority) const { return ms.at(static_cast<std::size_t>(priority)); }
};

inline constexpr std::uint64_t kHourMs = 3'600'000;

// Values of options or the environment.
struct IdlePolicy {
  IdleLimits reclaim{{kHourMs, 8 * kHourMs, 0}};  // then memory is swapped out to the host
  IdleLimits stop;                                // then the tenant is shut down, after a notice
  std::uint64_t notice_ms = 300'000;              // from the notice to SIGTERM
  std::uint64_t grace_ms = 30'000;                // from SIGTERM to SIGKILL
  std::string hook;                               // program that runs after the notice; empty: none
};

// Limits requested for one tenant; nothing: the priority's; 0: unlimited.
struct IdleRequest {
  std::optional<std::uint64_t> reclaim_ms;
  std::optional<std::uint64_t> stop_ms;
  bool any() const { return reclaim_ms || stop_ms; }
};

}  // namespace divvy::agent
