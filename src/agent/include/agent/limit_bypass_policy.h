// What is done about processes that use devices past what limits them. Values.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace divvy::agent {

enum class OnBypass : std::uint8_t {
  kReport,    // an event, a metric; of a pod a condition and an Event, too
  kThrottle,  // and the tenant gets next to nothing of its devices' time through Divvy
  kEvict,     // and it is ended after a notice; a pod is evicted
};

// "report", "throttle", "evict".
const char* onBypassName(OnBypass on);
Result<OnBypass> parseOnBypass(std::string_view text);

// As told by options or the environment. Milliseconds.
struct BypassPolicy {
  OnBypass on = OnBypass::kReport;
  std::uint64_t notice_ms = 60'000;  // from the event to SIGTERM; pods': the scheduler's
  std::uint64_t grace_ms = 30'000;   // from there to SIGKILL
};

}  // namespace divvy::agent
