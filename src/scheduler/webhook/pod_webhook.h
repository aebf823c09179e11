// The admission webhook's decision about a new pod, or a new ephemeral container. Pure. Private.
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

struct Review {
  std::string body;  // AdmissionReview with the response, JSON
  bool allowed = false;
};
// Returns why a pod with a valid request is refused all the same; none: it is not.
using Beyond = std::function<std::optional<std::string>(const kube::Pod&)>;
// The rules for the review of pods. The references outlive it.
struct WebhookRules {
  const vendors::Catalog& catalog;
  const engine::Engine& rules;  // with the pools; it needs no nodes
  std::string scheduler;        // pods that request devices get it as their scheduler
  Beyond beyond = {};           // empty: no further reason
  GateRule gate = {};           // assigns queue and gate; its errors refuse the pod; empty: no gate
  PriorityRules priorities = {};
};
// Answers an AdmissionReview (admission.k8s.io/v1). A pod with a request that can never be right is
// refused with the reason. kCorrupt: `body` is no AdmissionReview.
Result<Review> review(const std::string& body, const WebhookRules& with);

}  // namespace divvy::scheduler
