// What moving requests wins in a cluster that has come apart, and how long it takes to say so; and
// how long it takes to say who would have to end for a gang.
#pragma once

#include <functional>
#include <string>

#include "report.h"

namespace divvy::bench {

struct MovesPlan {
  unsigned nodes = 500;  // of eight cards
};

Report measureMoves(const MovesPlan& plan, const std::function<void(const std::string&)>& say);

}  // namespace divvy::bench
