// Actions on processes that bypass their limits. Values.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

enum class OnBypass : std::uint8_t {
  kReport,    // an event and a metric; for a pod also a condition and an Event
  kThrottle,  // also reduces the tenant's device time to almost nothing
  kEvict,     // also ends the tenant after a notice; a pod is evicted
};

// "report", "throttle", "evict".
const char* onBypassName(OnBypass on);
Result<OnBypass> parseOnBypass(std::string_view text);

// Values of options or the environment, in milliseconds.
struct BypassPolicy {
  OnBypass on = OnBypass::kReport;
  std::uint64_t notice_ms = 60'000;  // from the event to SIGTERM; pods': the scheduler's
  std::uint64_t grace_ms = 30'000;   // from SIGTERM to SIGKILL
};

}  // namespace divvy::agent
