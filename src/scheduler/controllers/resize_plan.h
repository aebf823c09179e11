// Decisions about a resize of a running pod. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/pod.h"
#include "kube/resize_request.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// ID in the state of a resize request that cannot be read.
inline constexpr const char* kUnreadableChange = "unreadable";

// Returns the state of a refused resize. `id`: of its request.
kube::ResizeState refusedChange(const std::string& id, const Error& why);

struct RequestedResize {
  kube::ResizeRequest change;
  std::optional<Error> unreadable;  // why the request cannot be read
};
// Returns the pod's resize request that is neither answered nor admitted. None: there is none, or
// an admitted resize is in progress.
std::optional<RequestedResize> askedChange(const kube::Pod& pod);

// Returns the pod's assignment after the resize. `kind`: device kind with shares that can be
// resized. kUsage, kNotFound, kUnsupported name accepted input; kUnavailable: the pod does not run;
// kCorrupt: its assignment cannot be read.
Result<std::string> assignmentWith(const kube::Pod& pod, const kube::ResizeRequest& change,
                                   const vendors::Kind& kind);

// Returns the annotations that record the result of an admitted resize: the state and, if it is
// done, the assignment and the values that a restarted container reads. `annotations`: of the pod.
kube::Labels settledBy(const kube::ResizeState& admitted, const kube::ResizeResult& result,
                       const vendors::Kind& kind, const kube::Labels& annotations);

}  // namespace divvy::scheduler
