// How long tenants may be idle, and what happens to them then. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/share_request.h"

namespace divvy::agent {

// Milliseconds by priority; 0: for ever.
struct IdleLimits {
  std::array<std::uint64_t, 3> ms{};

  std::uint64_t& of(Priority priority) { return ms.at(static_cast<std::size_t>(priority)); }
  std::uint64_t of(Priority priority) const { return ms.at(static_cast<std::size_t>(priority)); }
};

inline constexpr std::uint64_t kHourMs = 3'600'000;

// As told by options or the environment.
struct IdlePolicy {
  IdleLimits reclaim{{kHourMs, 8 * kHourMs, 0}};  // then its memory goes to the host
  IdleLimits stop;                                // then it is ended, after a notice
  std::uint64_t notice_ms = 300'000;              // from the notice to SIGTERM
  std::uint64_t grace_ms = 30'000;                // from there to SIGKILL
  std::string hook;                               // a program to run after the notice; empty: none
};

// What was asked for one tenant; nothing: as its priority has it. 0: for ever.
struct IdleRequest {
  std::optional<std::uint64_t> reclaim_ms;
  std::optional<std::uint64_t> stop_ms;
  bool any() const { return reclaim_ms || stop_ms; }
};

}  // namespace divvy::agent
