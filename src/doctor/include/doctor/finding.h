// What a check came to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace divvy::doctor {

enum class Scope { kNode, kCluster };
// In the order in which they matter less.
enum class State { kFault, kWarning, kSkipped, kOk };

const char* nameOf(Scope scope);  // "node", "cluster"
const char* nameOf(State state);  // "fault", "warning", "skipped", "ok"

struct Finding {
  std::string id;  // the check's
  Scope scope = Scope::kNode;
  State state = State::kOk;
  std::string subject;  // a path, a node, a pod; empty: the check is about one thing only
  std::string seen;     // the evidence; of a check that could not be made why
  std::string means;    // empty where all is well
  std::string fix;      // a command, or what to do; empty: nothing is to be done
  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// How many are in a state, and the worst of all: kOk of none.
std::size_t countOf(const Findings& findings, State state);
State worstOf(const Findings& findings);

}  // namespace divvy::doctor
