// Events, and the nomination of a node, as the API server takes them. Pure. Private.
#pragma once

#include <cstdint>
#include <string>

#include "kube/call.h"

namespace divvy::scheduler {

// Of one object of core/v1, by the scheduler of that name.
struct PodEvent {
  std::string space, name, uid;
  const char* reason;  // "Preempted"
  std::string message;
  bool warning = false;
  const char* kind = "Pod";  // of core/v1
};

// An Event (core/v1) of its own: `nanoseconds` since 1970 tell it from others of the pod.
kube::Call eventCall(const PodEvent& note, const std::string& scheduler, std::int64_t nanoseconds);
// Where room is made for the pod: kube-scheduler looks there first, and keeps processors and memory
// from pods of its own that have less priority. Of the pod of that UID only.
kube::Call nominateCall(const std::string& space, const std::string& name, const std::string& uid,
                        const std::string& node);

}  // namespace divvy::scheduler
