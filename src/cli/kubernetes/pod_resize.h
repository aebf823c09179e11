// A resize of a running container of a cluster. An annotation of its pod requests it, with the
// caller's rights. The scheduler admits or refuses it, and the agent of the node carries it out
// (kube/resize_request.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/assignment.h"
#include "kube/pod.h"
#include "kube/resize_request.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {

// Both are names of objects (isObjectName()).
struct PodName {
  std::string namespace_name, name;

  std::string path() const;  // of the API server
  std::string text() const;  // "pod lab/p"
};

// Errors: those of KubeApi::call() with the pod's name in front, and of kube::podOf().
Result<kube::Pod> readPod(KubeApi& api, const PodName& name);

// Returns the container of `pod` that has devices. kNotFound: there is none; kUsage: several have
// some, and the message names them.
Result<std::string> containerWithDevices(const kube::Pod& pod, const PodName& name);

// Returns the devices of a container, as its pod's annotation has them; none: it has no devices, or
// the annotation cannot be read.
std::vector<kube::AssignedDevice> devicesOf(const kube::Pod& pod, const std::string& container);

// Returns an identifier for ResizeRequest::id.
std::string newResizeId();

// Writes the request, to this pod only (UID). `dry_run`: the API server checks it and writes
// nothing. Errors: those of KubeApi::call() with the pod's name in front.
Result<void> requestResize(KubeApi& api, const PodName& name, const kube::Pod& pod,
                           const kube::ResizeRequest& change, bool dry_run = false);

// A pod some time after a request.
struct ResizeOutcome {
  kube::Pod pod;
  std::optional<kube::ResizeState> state;  // of this request; none: the scheduler has not answered
};

// Reads the pod `was` until the resize with this identifier is done or refused, or `bound` has
// passed. kNotFound: the pod was deleted; kUnavailable: it has ended. Other errors: those of
// readPod().
Result<ResizeOutcome> awaitResize(KubeApi& api, const PodName& name, const kube::Pod& was,
                                  const std::string& id, std::chrono::milliseconds bound);

}  // namespace divvy::cli
