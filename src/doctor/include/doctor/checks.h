// All checks, in the order in which they are made and told; their ids are for others to keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/cluster_facts.h"
#include "doctor/finding.h"
#include "doctor/node_facts.h"

namespace divvy::doctor {

struct Check {
  std::string id;  // kebab-case; docs/doctor.md has a section of that name
  Scope scope = Scope::kNode;
  std::string asks;  // what it asks, in a line
};

const std::vector<Check>& checks();
// Null: there is none of that id.
const Check* checkNamed(std::string_view id);

// Pure. Every check of the scope says at least one thing; of the same kind at most kMaxOfOne, and
// then how many more there are. `only`: ids; empty: all.
inline constexpr std::size_t kMaxOfOne = 20;
Findings diagnose(const NodeFacts& facts, const std::vector<std::string>& only = {});
Findings diagnose(const ClusterFacts& facts, const std::vector<std::string>& only = {});

// Where nothing could be read of a scope at all: each of its checks is skipped, and says why.
Findings skipAll(Scope scope, const std::string& why, const std::vector<std::string>& only = {});

}  // namespace divvy::doctor
