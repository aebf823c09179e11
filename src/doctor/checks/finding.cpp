#include "doctor/finding.h"

#include <algorithm>

namespace divvy::doctor {

const char* nameOf(FindingScope scope) {
  return scope == FindingScope::kNode ? "node" : "cluster";
}

const char* nameOf(FindingState state) {
  switch (state) {
    case FindingState::kFault:
      return "fault";
    case FindingState::kWarning:
      return "warning";
    case FindingState::kSkipped:
      return "skipped";
    case FindingState::kOk:
      break;
  }
  return "ok";
}

std::size_t countOf(const Findings& findings, FindingState state) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [state](const Finding& one) { return one.state == state; }));
}

FindingState worstOf(const Findings& findings) {
  FindingState worst = FindingState::kOk;
  for (const Finding& one : findings) worst = std::min(worst, one.state);
  return worst;
}

}  // namespace divvy::doctor
