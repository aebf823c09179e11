#include "doctor/finding.h"

#include <algorithm>

namespace divvy::doctor {

const char* nameOf(Scope scope) {
  return scope == Scope::kNode ? "node" : "cluster";
}

const char* nameOf(State state) {
  switch (state) {
    case State::kFault:
      return "fault";
    case State::kWarning:
      return "warning";
    case State::kSkipped:
      return "skipped";
    case State::kOk:
      break;
  }
  return "ok";
}

std::size_t countOf(const Findings& findings, State state) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [state](const Finding& one) { return one.state == state; }));
}

State worstOf(const Findings& findings) {
  State worst = State::kOk;
  for (const Finding& one : findings) worst = std::min(worst, one.state);
  return worst;
}

}  // namespace divvy::doctor
