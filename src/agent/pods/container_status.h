// How far a pod's containers are, as its status says. Pure.
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
  // Of the last one that ended: what the runtime called it (empty: none did), and its exit code.
  std::string ended;
  int exit = 0;
  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

// By name, of init containers too. What is not said is not there; what is not understood waits.
std::map<std::string, ContainerState> containerStates(const boost::json::value& pod);

}  // namespace divvy::agent
