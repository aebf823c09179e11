// Which pods of the node go around what limits them, as the node says it. Pure. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/eviction_request.h"
#include "pods/idle_report.h"

namespace divvy::agent {

// Of one container of a pod, or of a pod that was given nothing.
struct PodBypass {
  std::string uid, space, pod;
  std::string what;
  std::int64_t since = 0;  // seconds since 1970
};

// Pods of the cluster itself are only reported: nodes cannot do without them.
inline constexpr const char* kSystemNamespace = "kube-system";

// `evicts`: the node's policy; `now_ms`: of CLOCK_MONOTONIC; the rest as of idlePods(). A pod that
// is in `before` keeps its instant and its words there: an agent that was restarted saw it later.
kube::Complaints bypassPods(const std::vector<PodBypass>& found, bool evicts, std::uint64_t now_ms,
                            const kube::Complaints& before, const Deadlines& deadlines);

}  // namespace divvy::agent
