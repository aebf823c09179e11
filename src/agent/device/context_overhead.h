// What contexts cost, measured by `divvy probe-context` children and remembered in a file. Private.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy::agent {

// UUID -> bytes.
using ContextCosts = std::map<std::string, Bytes>;

// What the file says for this driver; empty when it says nothing usable.
ContextCosts loadCosts(const std::string& path, const std::string& driver);
// Best effort: a lost file costs one more measurement. The file is replaced whole or not at all.
void saveCosts(const std::string& path, const std::string& driver, const ContextCosts& costs);

struct ProbeCall {
  std::string executable;
  std::string cuda;  // path or soname
  std::string nvml;
};
// Starts one child per UUID and waits for all, at most 10 s; what does not answer is missing from
// the result. Blocks.
ContextCosts probeAll(const ProbeCall& call, const std::vector<std::string>& uuids);

}  // namespace divvy::agent
