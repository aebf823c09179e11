// What the books say to those who ask why: node by node, and what would have to be asked for
// instead. Pure; nothing comes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/refusal.h"
#include "engine/request.h"
#include "engine/suggestion.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// The condition of a pod that has waited for devices for a while; its message is a summary.
inline constexpr const char* kDevicesFit = "divvy.dev/DevicesFit";

struct NodeVerdict {
  std::string node;
  bool fits = false;
  std::string why;                             // it does not
  std::optional<engine::NodeRefusal> refusal;  // the same, of a node that is known
  std::vector<engine::Remedy> remedies;        // with each alone it would
};

// Of each of `nodes`, as they are asked about. Takes the time of looking at every device, and many
// times that for remedies.
Result<std::vector<NodeVerdict>> explainNodes(const SchedulerCache& cache,
                                              const engine::Request& request,
                                              std::span<const std::string> nodes);

// A change of what is asked for.
struct Suggestion {
  engine::Remedy remedy;
  std::string node;       // the first that it would fit then
  std::size_t nodes = 0;  // how many
};

// Of each kind of change the one that changes least, these first.
std::vector<Suggestion> nearestFixes(const std::vector<NodeVerdict>& nodes);

// Few lines' worth: "0 of 5000 nodes have room: 4990 too little device memory free (1 device
// wanted), 10 cordoned". What is said of most nodes comes first; beyond `most` reasons the rest is
// counted. `containers`: their names, init containers first.
Result<std::string> summary(const SchedulerCache& cache, const engine::Request& request,
                            const std::vector<std::string>& containers, std::size_t most = 4);

}  // namespace divvy::scheduler
