// Reports of an examination, for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace divvy::doctor {

struct Report {
  std::string version;          // of this program
  std::int64_t written_ms = 0;  // milliseconds since 1970
  std::string root;             // root folder of the machine; empty: not examined
  std::string server;           // of the cluster; empty: not examined
  Findings findings;            // in the order of checks()
};

// Returns the report by state, the worst first. `brief`: one line for all that are ok.
std::string textOf(const Report& report, bool brief);
// Returns the report as JSON; keys and ids are stable (docs/operations/doctor.md).
std::string jsonOf(const Report& report);
// Returns the output of "divvy doctor --list", with or without JSON.
std::string listOf(bool json);
// Returns where an id is documented.
std::string pageOf(const std::string& id);

}  // namespace divvy::doctor
