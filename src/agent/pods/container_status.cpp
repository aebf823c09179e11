#include "pods/container_status.h"

#include <boost/json.hpp>

#include "json/path.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

ContainerState stateOf(const json::value& status) {
  ContainerState state;
  const json::value* now = memberAt(status, {"state"});
  const json::value* ended = memberAt(now, {"terminated"});
  if (ended != nullptr) {
    state.phase = ContainerPhase::kEnded;
  } else if (memberAt(now, {"running"}) != nullptr) {
    state.phase = ContainerPhase::kRunning;
  } else {
    state.reason = textAt(now, {"waiting", "reason"});
  }
  if (ended == nullptr) ended = memberAt(status, {"lastState", "terminated"});
  state.ended = textAt(ended, {"containerID"});
  state.exit = static_cast<int>(integerAt(ended, {"exitCode"}));
  return state;
}

}  // namespace

std::map<std::string, ContainerState> containerStates(const json::value& pod) {
  std::map<std::string, ContainerState> all;
  for (const char* list : {"initContainerStatuses", "containerStatuses"})
    for (const json::value& one : listAt(pod, {"status", list}))
      all.insert_or_assign(textAt(one, {"name"}), stateOf(one));
  return all;
}

}  // namespace divvy::agent
