// Whose turn it is, of a pod's containers that have the same devices: kubelets give those of an
// init container to the containers behind it, and name only the devices when one of them is about
// to be made. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/pod.h"
#include "pods/container_status.h"

namespace divvy::agent {

using ContainerStates = std::map<std::string, ContainerState>;

// Who was made last with these devices, and what the status said then.
struct LastStartedContainer {
  std::string container;
  // None: nobody remembers (the agent began anew since): only a settled status tells then.
  std::optional<ContainerStates> states;
};

// `sharing`: names, of one pod. None: what the pod's status says is older than what has happened
// (it comes to the API server a moment later): ask again with a later one. `settled`: it has not
// changed for longer than that takes. When a pod's sandbox is made anew its containers begin from
// the first one, and no status says so before that is made: then it is taken for who was made last.
std::optional<std::string> resolveContainer(const kube::Pod& pod, const ContainerStates& states,
                                            const std::vector<std::string>& sharing,
                                            const std::optional<LastStartedContainer>& last,
                                            bool settled);

// Those of a pod's containers that are over while that one is about to be made.
std::vector<std::string> overBefore(const kube::Pod& pod, const std::string& container);

}  // namespace divvy::agent
