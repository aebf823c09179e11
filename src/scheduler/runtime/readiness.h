// Answers of /readyz. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/leader_election.h"

namespace divvy::scheduler {

// Something that the service reads from the API server.
struct HealthSource {
  std::string name;
  bool told = true;                          // completely read
  std::optional<std::int64_t> failing_ms{};  // time since reads fail; none: they do not
  std::string fault{};                       // last error
};

struct Readiness {
  bool ready = false;
  std::string text;  // the fault, or which replica leads
};

// Returns the readiness of the webhook. It needs no state of the cluster. But a replica with a
// source that has failed for more than 30 s is cut off, or lacks permissions, and is not ready.
Readiness webhookReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict);
// Returns the readiness of the extender: as the webhook's, and all sources are completely read.
Readiness extenderReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict);

}  // namespace divvy::scheduler
