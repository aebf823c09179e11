// What a bench found, against its bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace divvy::bench {

struct Figure {
  std::string group;  // "added_ns", "startup_ms"; empty: a key of its own
  std::string key;
  double value = 0;            // what Divvy adds, or takes
  std::optional<double> bare;  // the absolute figures behind `value`
  std::optional<double> divvied;
  std::optional<double> bar;  // at most; none: reported only
  bool passed() const;        // NaN never passes
};

struct Report {
  std::string date;    // ISO 8601, UTC
  std::string host;    // processor and how many
  std::string driver;  // "simgpu null" or the card's name and the driver's version
  std::vector<Figure> figures;

  bool passed() const;
};

// A table of 80 columns.
std::string table(const Report& report);

// One object: added_ns/{...}, startup_ms/{...}, holder_killed_ms, bars, bare, with, passed.
std::string json(const Report& report);

}  // namespace divvy::bench
