// What this node offers for the enforcement of compute. Private.
#pragma once

#include "agent/enforcement.h"
#include "agent/node.h"
#include "agent/protocol.h"
#include "enforcement/timeslice_probe.h"

namespace divvy::agent {

EnforcementRequest enforcementAsk(const RunRequest& request);

// Looks again at each call: daemons start and stop. For time slices, returns what the probe knows
// so far. Never blocks.
EnforcementOffer enforcementOffer(const RunRequest& request, const Node& node,
                                  const TimesliceProbe& trial);

}  // namespace divvy::agent
