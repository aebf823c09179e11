// Disruption budgets: how many pods of a set may be evicted now. Source: the policy/v1 API,
// PodDisruptionBudget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::kube {

enum class SelectorWord : std::uint8_t { kIn, kNotIn, kExists, kAbsent };

// A condition on one label.
struct Requirement {
  std::string key;
  SelectorWord word = SelectorWord::kExists;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

struct DisruptionBudget {
  Meta meta;
  bool selects = false;             // has a selector; without one it covers no pod
  std::vector<Requirement> labels;  // all must hold; empty: every pod of the namespace
  std::int64_t allowed = 0;         // evictions allowed now
  friend bool operator==(const DisruptionBudget&, const DisruptionBudget&) = default;

  bool covers(const std::string& namespace_name, const Labels& of) const;
};

// Reads a PodDisruptionBudget. kCorrupt names a member that differs from the API, or an unknown
// operator.
Result<DisruptionBudget> budgetOf(const boost::json::value& object);

}  // namespace divvy::kube
