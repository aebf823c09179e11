// What this node offers to enforce shares of compute with. Private.
#pragma once

#include "agent/enforcement.h"
#include "agent/node.h"
#include "agent/protocol.h"
#include "enforcement/timeslice_probe.h"

namespace divvy::agent {

EnforcementRequest enforcementAsk(const RunRequest& request);

// Looks again each time: daemons come and go. Of time slices it says what the trial has said until
// now. Never waits.
EnforcementOffer enforcementOffer(const RunRequest& request, const Node& node,
                                  const TimesliceProbe& trial);

}  // namespace divvy::agent
