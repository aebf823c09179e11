// What a bench found, against its bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace divvy::bench {

struct Figure {
  std::string group;  // "added_ns", "cases/k1/divvy"; empty: a key of its own
  std::string key;
  double value = 0;            // what Divvy adds, or takes
  std::optional<double> bare;  // the absolute figures behind `value`
  std::optional<double> divvied;
  std::optional<double> bar;  // at most; none: reported only
  bool at_least = false;      // the bar is one to reach
  bool detail = false;        // in the JSON only; may be NaN: not measured
  bool passed() const;        // NaN never passes
};

struct Report {
  std::string date;    // ISO 8601, UTC
  std::string host;    // processor and how many
  std::string driver;  // "simgpu null" or the card's name and the driver's version
  std::vector<Figure> figures;
  std::string notes;  // said below the table, lines of 80 columns

  bool passed() const;
};

// A table of 80 columns.
std::string table(const Report& report);

// One object: the figures nested by group, then bars, bare, divvied (where there are any), passed.
std::string json(const Report& report);

// Now, and this machine's processors, for a report's head.
std::string today();
std::string hostName();

}  // namespace divvy::bench
