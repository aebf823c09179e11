// Finds which of a pod's containers with the same devices is about to start. Kubelets give the
// devices of an init container to later containers, and name only the devices when one of them
// starts. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/pod.h"
#include "pods/container_status.h"

namespace divvy::agent {

using ContainerStates = std::map<std::string, ContainerState>;

// The container that last started with these devices, and the status at that time.
struct LastStartedContainer {
  std::string container;
  // Nothing: unknown, as after a restart of the agent; then only a settled status is evidence.
  std::optional<ContainerStates> states;
};

// Returns the container that is about to start. `sharing`: names of containers of one pod. Nothing:
// the status is older than the events (it reaches the API server a moment later); call again with a
// later status. `settled`: the status has not changed for longer than that delay.
// When a pod's sandbox is recreated, its containers start again from the first; the status shows
// that only later. Until then the last started container is returned.
std::optional<std::string> resolveContainer(const kube::Pod& pod, const ContainerStates& states,
                                            const std::vector<std::string>& sharing,
                                            const std::optional<LastStartedContainer>& last,
                                            bool settled);

// The pod's containers that have ended when `container` is about to start.
std::vector<std::string> overBefore(const kube::Pod& pod, const std::string& container);

}  // namespace divvy::agent
