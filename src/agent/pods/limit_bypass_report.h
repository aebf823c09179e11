// Which pods of the node bypass their limits, as published on the node. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "idle/idle_report.h"
#include "kube/eviction_request.h"

namespace divvy::agent {

// A bypass by a container of a pod, or by a pod without an allocation.
struct PodBypass {
  std::string uid, namespace_name, pod;
  std::string what;
  std::int64_t since = 0;  // seconds since 1970
};

// Pods of the cluster itself are only reported: nodes need them.
inline constexpr const char* kSystemNamespace = "kube-system";

// `evicts`: the node's policy. `now_ms`: of CLOCK_MONOTONIC. The rest as in idlePods(). A pod that
// is in `before` keeps its instant and its text there: a restarted agent saw it later.
kube::Complaints bypassPods(const std::vector<PodBypass>& found, bool evicts, std::uint64_t now_ms,
                            const kube::Complaints& before, const Deadlines& deadlines);

}  // namespace divvy::agent
