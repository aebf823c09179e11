// The part of `divvy top` about time on the card: who got how much, and why not more. Pure.
#pragma once

#include "agent/protocol.h"
#include "view/line_painter.h"

namespace divvy::cli {

// A heading, a line per share, and below a tenant what whySlow() says of it. All columns of the
// heading are there at 80 columns; more room shows more.
void paintCompute(Painter& painter, const agent::Snapshot& node);

}  // namespace divvy::cli
