// Compute in `divvy top`: each tenant's time on the device, and why it is not more. Pure.
#pragma once

#include "agent/protocol.h"
#include "view/line_painter.h"

namespace divvy::cli {

// Returns a heading, a line per share, and below each tenant its whySlow(). Columns fit into 80; a
// wider terminal shows more.
void paintCompute(Painter& painter, const agent::Snapshot& node);

}  // namespace divvy::cli
