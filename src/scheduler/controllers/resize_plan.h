// What becomes of a change that somebody asks of a running pod. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/pod.h"
#include "kube/resize_request.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// Of a change that cannot be read, which has no id that could be named.
inline constexpr const char* kUnreadableChange = "unreadable";

kube::ResizeState refusedChange(const std::string& id, const Error& why);

struct RequestedResize {
  kube::ResizeRequest change;
  std::optional<Error> unreadable;
};
// One that is neither settled nor admitted; none: there is none.
std::optional<RequestedResize> askedChange(const kube::Pod& pod);

// What the pod's assignment will be. kUsage, kNotFound, kUnsupported, kUnavailable (it does not
// run): what is accepted. `kind`: whose shares can be changed.
Result<std::string> assignmentWith(const kube::Pod& pod, const kube::ResizeRequest& change,
                                   const vendors::Kind& kind);

// Annotations that say that it is done: the assignment, the state, and what is heard again when the
// container is made anew. `annotations`: the pod's.
kube::Labels settledBy(const kube::ResizeState& admitted, const kube::ResizeResult& result,
                       const vendors::Kind& kind, const kube::Labels& annotations);

}  // namespace divvy::scheduler
