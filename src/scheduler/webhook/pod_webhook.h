// What becomes of a pod when it is made. Pure. Private.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "annotations/queue_assignment.h"
#include "base/result.h"
#include "engine/engine.h"
#include "kube/pod.h"
#include "scheduler/device_priority.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// From an AdmissionReview (admission.k8s.io/v1) to one that answers it: a pod that asks for devices
// gets our scheduler; one that can never be right is refused with the reason. `rules`: an engine
// that knows the pools; it needs no nodes. `gate`: none waits where there is none; its errors
// refuse. kCorrupt: it is no review.
struct Review {
  std::string body;
  bool allowed = false;
};
// Why it may not be made, though what it asks for is right; none: it may.
using Beyond = std::function<std::optional<std::string>(const kube::Pod&)>;
Result<Review> review(const std::string& body, const vendors::Catalog& catalog,
                      const engine::Engine& rules, const std::string& scheduler,
                      const Beyond& beyond = {}, const GateRule& gate = {},
                      const PriorityRules& priorities = {});

}  // namespace divvy::scheduler
