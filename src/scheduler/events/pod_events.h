// Calls of the API server that write Events and nominate a node. Pure. Private.
#pragma once

#include <cstdint>
#include <string>

#include "kube/call.h"

namespace divvy::scheduler {

// An Event about one object of core/v1.
struct PodEvent {
  std::string namespace_name, name, uid;
  const char* reason;  // "Preempted"
  std::string message;
  bool warning = false;
  const char* kind = "Pod";  // kind of the object
};

// Returns the call that creates the Event (core/v1). `scheduler`: name of the reporting scheduler;
// `nanoseconds`: since 1970, which also make the Event's name unique.
kube::Call eventCall(const PodEvent& note, const std::string& scheduler, std::int64_t nanoseconds);
// Returns the call that nominates `node` for the pod with this UID. kube-scheduler examines that
// node first, and withholds its CPU and memory from its other pods of lower priority.
kube::Call nominateCall(const std::string& namespace_name, const std::string& name,
                        const std::string& uid, const std::string& node);

}  // namespace divvy::scheduler
