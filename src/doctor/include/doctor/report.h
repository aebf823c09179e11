// What is told of an examination: to people, and as one JSON document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace divvy::doctor {

struct Report {
  std::string version;          // of this program
  std::int64_t written_ms = 0;  // since 1970
  std::string root;             // the machine's tree; empty: not looked at
  std::string server;           // the cluster's; empty: likewise
  Findings findings;            // in the order of checks()
};

// Grouped by state, the worst first. `brief`: what is well in one line.
std::string textOf(const Report& report, bool brief);
// Keys and ids stay what they are: docs/doctor.md describes it.
std::string jsonOf(const Report& report);
// "divvy doctor --list", with or without JSON.
std::string listOf(bool json);
// Where it is written what an id means.
std::string pageOf(const std::string& id);

}  // namespace divvy::doctor
