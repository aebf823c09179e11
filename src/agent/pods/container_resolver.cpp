#include "pods/container_resolver.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace divvy::agent {
namespace {

using States = ContainerStates;

// Whether the container must end before others start.
bool ends(const kube::Pod& pod, const std::string& name) {
  return std::any_of(pod.init.begin(), pod.init.end(), [&](const kube::PodContainer& one) {
    return one.name == name && !one.sidecar;
  });
}

std::vector<std::string> inOrder(const kube::Pod& pod, const std::vector<std::string>& names) {
  std::vector<std::string> order;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list)
      if (std::find(names.begin(), names.end(), one.name) != names.end()) order.push_back(one.name);
  return order;
}

ContainerState stateOf(const States& states, const std::string& name) {
  const auto known = states.find(name);
  return known == states.end() ? ContainerState{} : known->second;
}

bool waitsFor(const ContainerState& state, std::initializer_list<std::string_view> reasons) {
  return state.phase == ContainerPhase::kWaiting &&
         std::find(reasons.begin(), reasons.end(), state.reason) != reasons.end();
}

// Its sandbox was recreated, so all containers start again from the first.
bool beginsAnew(const ContainerState& state) {
  return waitsFor(state, {"PodInitializing"}) && !state.ended.empty();
}

// It could not be created or started; the status then has another reason.
bool failedToBegin(const ContainerState& state) {
  return state.phase == ContainerPhase::kWaiting &&
         !waitsFor(state, {"", "PodInitializing", "ContainerCreating", "CrashLoopBackOff"});
}

// Changes since the last start, as far as the status shows them.
class Since {
 public:
  Since(const States& now, const std::optional<States>& then) : now_(now), then_(then) {}

  ContainerState of(const std::string& name) const { return stateOf(now_, name); }
  // It ended, or could not be created.
  bool over(const std::string& name) const {
    const ContainerState now = of(name);
    if (!then_) return !now.ended.empty();
    const ContainerState then = stateOf(*then_, name);
    return now.ended != then.ended || (now != then && failedToBegin(now));
  }
  bool well(const std::string& name) const {
    const ContainerState now = of(name);
    return over(name) && now.phase == ContainerPhase::kEnded && now.exit == 0;
  }

 private:
  const States& now_;
  const std::optional<States>& then_;
};

}  // namespace

std::optional<std::string> resolveContainer(const kube::Pod& pod, const States& states,
                                            const std::vector<std::string>& sharing,
                                            const std::optional<LastStartedContainer>& last,
                                            bool settled) {
  const std::vector<std::string> order = inOrder(pod, sharing);
  if (order.empty()) return std::nullopt;
  if (order.size() == 1) return order.front();
  const auto was = last ? std::find(order.begin(), order.end(), last->container) : order.end();
  if (was == order.end()) {
    // No start is recorded, as after a restart of the agent. A container that completed does not
    // start again.
    const auto first = std::find_if(order.begin(), order.end(), [&](const std::string& one) {
      const ContainerState state = stateOf(states, one);
      return !ends(pod, one) || state.phase != ContainerPhase::kEnded || state.exit != 0;
    });
    return first == order.end() ? order.back() : *first;
  }
  const Since since(states, last->states);
  // The container that was starting then is not starting any more, or no other would start now.
  const bool runs = std::any_of(order.begin(), order.end(), [&](const std::string& one) {
    return since.of(one).phase == ContainerPhase::kRunning;
  });
  const bool somebody =
      last->states && std::any_of(order.begin(), order.end(),
                                  [&](const std::string& one) { return since.over(one); });
  if (runs || (!somebody && !settled)) return std::nullopt;
  const bool anew = beginsAnew(since.of(*was)) || (!since.over(*was) && somebody);
  if (anew) {
    const auto first = std::find_if(order.begin(), order.end(),
                                    [&](const std::string& one) { return !since.well(one); });
    return first == order.end() ? order.back() : *first;
  }
  const bool next = ends(pod, *was) && since.well(*was) && was + 1 != order.end();
  return next ? *(was + 1) : *was;
}

std::vector<std::string> overBefore(const kube::Pod& pod, const std::string& container) {
  std::vector<std::string> over;
  const bool ends_itself = ends(pod, container);
  bool before = true;
  for (const auto* list : {&pod.init, &pod.containers}) {
    for (const kube::PodContainer& one : *list) {
      if (one.name == container) {
        before = false;
      } else if (before ? ends(pod, one.name) : ends_itself) {
        over.push_back(one.name);
      }
    }
  }
  return over;
}

}  // namespace divvy::agent
