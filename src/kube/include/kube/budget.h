// How many pods of a set may be evicted now. Source: the policy/v1 API, PodDisruptionBudget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::kube {

enum class SelectorWord : std::uint8_t { kIn, kNotIn, kExists, kAbsent };

// What a label has to be.
struct Requirement {
  std::string key;
  SelectorWord word = SelectorWord::kExists;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

struct DisruptionBudget {
  Meta meta;
  bool selects = false;             // without a selector nobody is its
  std::vector<Requirement> labels;  // all of them; none: every pod of the namespace
  std::int64_t allowed = 0;         // evictions that it still allows
  friend bool operator==(const DisruptionBudget&, const DisruptionBudget&) = default;

  bool covers(const std::string& space, const Labels& of) const;
};

// kCorrupt: which member is not what the API says it is, or an operator that is not known.
Result<DisruptionBudget> budgetOf(const boost::json::value& object);

}  // namespace divvy::kube
