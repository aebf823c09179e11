#include "pods/container_status.h"

#include <boost/json.hpp>

namespace divvy::agent {
namespace {

namespace json = boost::json;

const json::value* memberOf(const json::value* object, const char* name) {
  const json::object* all = object == nullptr ? nullptr : object->if_object();
  return all == nullptr ? nullptr : all->if_contains(name);
}

std::string textOf(const json::value* object, const char* name) {
  const json::value* said = memberOf(object, name);
  return said == nullptr || !said->is_string() ? "" : std::string(said->get_string());
}

int numberOf(const json::value* object, const char* name) {
  const json::value* said = memberOf(object, name);
  const auto* number = said == nullptr ? nullptr : said->if_int64();
  return number == nullptr ? 0 : static_cast<int>(*number);
}

ContainerState stateOf(const json::value& status) {
  ContainerState state;
  const json::value* now = memberOf(&status, "state");
  const json::value* ended = memberOf(now, "terminated");
  if (ended != nullptr) {
    state.phase = ContainerPhase::kEnded;
  } else if (memberOf(now, "running") != nullptr) {
    state.phase = ContainerPhase::kRunning;
  } else {
    state.reason = textOf(memberOf(now, "waiting"), "reason");
  }
  if (ended == nullptr) ended = memberOf(memberOf(&status, "lastState"), "terminated");
  state.ended = textOf(ended, "containerID");
  state.exit = numberOf(ended, "exitCode");
  return state;
}

}  // namespace

std::map<std::string, ContainerState> containerStates(const json::value& pod) {
  std::map<std::string, ContainerState> all;
  const json::value* status = memberOf(&pod, "status");
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    const json::value* statuses = memberOf(status, list);
    if (statuses == nullptr || !statuses->is_array()) continue;
    for (const json::value& one : statuses->get_array())
      all.insert_or_assign(textOf(&one, "name"), stateOf(one));
  }
  return all;
}

}  // namespace divvy::agent
