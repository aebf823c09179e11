// A pod, as far as placement needs it. Source: the core/v1 API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/object.h"

namespace divvy::kube {

// By resource name, as they were written: "16Gi", "500m".
using Quantities = std::map<std::string, std::string>;

struct PodContainer {
  std::string name;
  Quantities limits;
  Quantities requests;
  bool privileged = false;
  bool sidecar = false;  // an init container that goes on beside the others (restartPolicy: Always)
  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

// What somebody says of a pod, in its status.
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
  bool preempts = true;        // others of lower priority may have to end for it
  std::string controller;      // kind of the object that makes it anew; empty: none
  Quantities requests;         // of the pod as a whole, where it says so
  Quantities overhead;         // beside its containers
  std::int64_t grace = 30;     // seconds that it has to end in
  std::int64_t placed_at = 0;  // seconds since 1970, by the server's clock; 0: not said
  std::string nominated;       // the node that is being made free for it; empty: none
  PodPhase phase = PodPhase::kPending;
  std::string created;  // when it was made, as RFC 3339 in UTC: sorts; empty: not said
  // Those of others than Kubernetes itself: their types name a domain ("divvy.dev/...").
  std::vector<PodCondition> conditions;

  // Does not hold any more what it was given.
  bool ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  friend bool operator==(const Pod&, const Pod&) = default;
};

Result<Pod> podOf(const boost::json::value& object);

}  // namespace divvy::kube
