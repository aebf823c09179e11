// Picture of `divvy top`. Pure: state and size in, lines out.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol.h"
#include "view/terminal.h"

namespace divvy::cli {

struct TopSample {
  ScreenSize size;  // bounds of the picture; 0 rows: any height
  bool color = false;
  bool utf8 = false;
  std::string clock;  // in the first line
};

std::vector<std::string> drawTop(const std::vector<agent::Snapshot>& nodes, const TopSample& look);

}  // namespace divvy::cli
