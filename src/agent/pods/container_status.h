// The state of a pod's containers according to its status. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/fwd.hpp>

namespace divvy::agent {

enum class ContainerPhase : std::uint8_t { kWaiting, kRunning, kEnded };

// Source: core/v1 ContainerStatus.
struct ContainerState {
  ContainerPhase phase = ContainerPhase::kWaiting;
  std::string reason;  // of kWaiting: "PodInitializing", "CrashLoopBackOff" ...
  // The runtime's ID of the last run that ended (empty: none ended), and its exit code.
  std::string ended;
  int exit = 0;
  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

// By name, init containers included. A container without a status is absent; an unknown state is
// kWaiting.
std::map<std::string, ContainerState> containerStates(const boost::json::value& pod);

}  // namespace divvy::agent
