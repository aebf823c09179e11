// All checks, in the order in which they run and are reported. Their ids are stable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/cluster_facts.h"
#include "doctor/finding.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

struct Check {
  std::string id;  // kebab-case; section of docs/operations/doctor.md
  FindingScope scope = FindingScope::kNode;
  std::string question;  // its question, one line
};

const std::vector<Check>& checks();
// Returns null for an unknown id.
const Check* checkNamed(std::string_view id);

// Runs all checks of a scope, or those with ids in `only`. Pure. Each check returns at least one
// finding, and at most kMaxOfOne of a kind, followed by the number of further ones.
inline constexpr std::size_t kMaxOfOne = 20;
Findings diagnose(const NodeFacts& facts, const std::vector<std::string>& only = {});
Findings diagnose(const ClusterFacts& facts, const std::vector<std::string>& only = {});

// Returns a skipped finding with the reason for each check of a scope that could not be read at
// all.
Findings skipAll(FindingScope scope, const std::string& why,
                 const std::vector<std::string>& only = {});

}  // namespace divvy::doctor
