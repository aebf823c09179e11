// The backends that this node offers for the enforcement of compute. Private.
#pragma once

#include "agent/enforcement.h"
#include "agent/node.h"
#include "agent/protocol.h"
#include "enforcement/timeslice_probe.h"

namespace divvy::agent {

EnforcementRequest enforcementAsk(const RunRequest& request);

// Checks at each call, because daemons start and stop. For time slices it returns the probe's
// present result. Does not block.
EnforcementOffer enforcementOffer(const RunRequest& request, const Node& node,
                                  const TimesliceProbe& trial);

}  // namespace divvy::agent
