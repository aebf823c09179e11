// A Pod, as far as placement needs it. Source: the core/v1 API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::kube {

// Amounts by resource name, as written in the object: "16Gi", "500m".
using Quantities = std::map<std::string, std::string>;

struct PodContainer {
  std::string name;
  Quantities limits;
  Quantities requests;
  bool privileged = false;
  // An init container that runs beside the containers (restartPolicy: Always).
  bool sidecar = false;
  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

// A condition in a pod's status.
struct PodCondition {
  std::string type, status, message;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct Pod {
  Meta meta;
  std::string node;       // empty: not bound
  std::string scheduler;  // empty: the cluster's own
  std::vector<PodContainer> init;
  std::vector<PodContainer> containers;
  std::vector<std::string> gates;
  std::int64_t priority = 0;
  bool preempts = true;        // may preempt pods of lower priority
  std::string controller;      // kind of the object that recreates it; empty: none
  Quantities requests;         // of the pod as a whole, if stated
  Quantities overhead;         // in addition to its containers' requests
  std::int64_t grace = 30;     // termination grace period, seconds
  std::int64_t placed_at = 0;  // seconds since 1970, by the server's clock; 0: not stated
  std::string nominated;       // node with victims that are evicted for it; empty: none
  PodPhase phase = PodPhase::kPending;
  std::string created;  // RFC 3339 in UTC, so it sorts; empty: not stated
  // Conditions with a domain in their type ("divvy.dev/..."); Kubernetes' own types have none.
  std::vector<PodCondition> conditions;

  // Returns whether the pod has ended, so that it no longer holds its allocation.
  bool ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  friend bool operator==(const Pod&, const Pod&) = default;
};

Result<Pod> podOf(const boost::json::value& object);

}  // namespace divvy::kube
