// What /readyz says. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/leader_election.h"

namespace divvy::scheduler {

// Something that the API server tells us.
struct HealthSource {
  std::string name;
  bool told = true;                          // all of it that has to be known
  std::optional<std::int64_t> failing_ms{};  // for how long nothing was heard: all tries failed
  std::string fault{};                       // the last one
};

struct Readiness {
  bool ready = false;
  std::string text;  // what is wrong, or who leads
};

// For the webhook: it needs nothing of the cluster, but a replica that has heard nothing for half a
// minute is cut off, or may not do what it is there for.
Readiness webhookReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict);
// For kube-scheduler: then all has to be told, too.
Readiness extenderReadiness(std::span<const HealthSource> sources, const LeaderStatus& verdict);

}  // namespace divvy::scheduler
