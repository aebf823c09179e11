// The result of a check.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace divvy::doctor {

enum class FindingScope { kNode, kCluster };
// From the most to the least important.
enum class FindingState { kFault, kWarning, kSkipped, kOk };

const char* nameOf(FindingScope scope);  // "node", "cluster"
const char* nameOf(FindingState state);  // "fault", "warning", "skipped", "ok"

struct Finding {
  std::string id;  // of the check
  FindingScope scope = FindingScope::kNode;
  FindingState state = FindingState::kOk;
  std::string subject;  // a path, a node, a pod; empty: the check has one subject only
  std::string seen;     // the evidence; of a skipped check the reason
  std::string means;    // empty for kOk
  std::string fix;      // a command or an action; empty: none is needed
  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// Count the findings in a state, and return the worst state: kOk if there are none.
std::size_t countOf(const Findings& findings, FindingState state);
FindingState worstOf(const Findings& findings);

}  // namespace divvy::doctor
