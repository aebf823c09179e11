// The cost of contexts, measured by `divvy probe-context` children and stored in a file. Private.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::agent {

// By UUID, in bytes.
using ContextCosts = std::map<std::string, Bytes>;

// The costs in the file for this driver; empty: none usable.
ContextCosts loadCosts(const std::string& path, const std::string& driver);
// Best effort: a lost file costs one more measurement. Replaces the file atomically.
void saveCosts(const std::string& path, const std::string& driver, const ContextCosts& costs);

struct ProbeCall {
  std::string executable;
  std::string cuda;  // path or soname
  std::string nvml;
};
// Starts one child for each UUID and waits for all of them, at most 10 s. A UUID without an answer
// is missing from the result. Blocks.
ContextCosts probeAll(const ProbeCall& call, const std::vector<std::string>& uuids);

}  // namespace divvy::agent
