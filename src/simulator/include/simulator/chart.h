// Pictures of lines as SVG text: no colour alone tells lines apart, and a dark page has its own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divvy::simulator {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by ascending x
};

struct Panel {
  std::string title;
  std::string across;  // what the axes are of, with the unit
  std::string up;
  std::vector<Line> lines;
  // Where the axis up begins; none: just below the lowest point.
  std::optional<double> low;
};

// One panel below the other. Equal input gives equal text; points that are no finite number are
// left out. What is not printable ASCII in names is shown as '?'.
std::string svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace divvy::simulator
