// Line charts as SVG text. Lines differ in more than colour, and a dark page has its own colours.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divvy::simulator {

// One line of a chart.
struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // ascending by x
};

// One chart.
struct Panel {
  std::string title;
  std::string across;  // label of the horizontal axis, with the unit
  std::string up;      // label of the vertical axis, with the unit
  std::vector<Line> lines;
  // Start of the vertical axis; none: just below the lowest point.
  std::optional<double> low;
};

// Returns the panels, one below the other, as an SVG document. Equal input gives equal text. Omits
// points without a finite value. Shows characters of names that are not printable ASCII as '?'.
std::string svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace divvy::simulator
