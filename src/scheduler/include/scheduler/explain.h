// Explains decisions of the scheduler cache: a verdict for each node, and changes of the request
// that would fit. Pure; changes nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/refusal.h"
#include "engine/request.h"
#include "engine/suggestion.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Condition of a pod that has waited for devices for a while; its message is a summary().
inline constexpr const char* kDevicesFit = "divvy.dev/DevicesFit";

struct NodeVerdict {
  std::string node;
  bool fits = false;
  std::string why;                             // reason for a refusal; empty if it fits
  std::optional<engine::NodeRefusal> refusal;  // the same, for a known node
  std::vector<engine::Remedy> remedies;        // each alone makes the request fit
};

// Returns the verdict on each of `nodes`, in their order. Examines every device of the cluster;
// remedies take many times as long. `containers`: names for the reasons, init containers first.
Result<std::vector<NodeVerdict>> explainNodes(const SchedulerCache& cache,
                                              const engine::Request& request,
                                              std::span<const std::string> nodes,
                                              const std::vector<std::string>& containers = {});

// A change of a request.
struct Suggestion {
  engine::Remedy remedy;
  std::string node;       // first node that the changed request fits
  std::size_t nodes = 0;  // number of nodes with this remedy
};

// Returns the smallest change of each kind, ascending by size.
std::vector<Suggestion> nearestFixes(const std::vector<NodeVerdict>& nodes);

// Returns "devices cordoned on 2 nodes": texts of reasons mention devices, so a number before them
// would count these.
std::string onNodes(const std::string& reason, std::size_t count);

// Returns a short text: "0 of 5000 nodes fit: too little device memory free (1 device wanted) on
// 4990 nodes, cordoned on 10 nodes". The most frequent reason comes first. Nodes with reasons
// beyond the first `most` are counted together. `containers`: names, init containers first.
Result<std::string> summary(const SchedulerCache& cache, const engine::Request& request,
                            const std::vector<std::string>& containers, std::size_t most = 4);

// Returns whether a pod waits by this reason because a ResourceQuota or the limit or guarantee of a
// queue allows no more. `reason`: of a summary(), or of the status of a Queue.
bool namesQuota(std::string_view reason);

}  // namespace divvy::scheduler
