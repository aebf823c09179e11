#include "capacity/node_capacity.h"

#include <algorithm>
#include <limits>

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kMaxPods = std::numeric_limits<std::int32_t>::max();

}  // namespace

NodeResources NodeCapacity::leftOn(const std::string& node, std::int64_t above) const {
  NodeResources left = nodeResourcesOf(cache_.nodes().allocatable(node));
  for (const RunningPod* pod : running_pods_.on(node))
    if (pod->priority >= above || pod->fixed) left.take(pod->resources);
  return left;
}

std::uint32_t NodeCapacity::most(const std::string& node, const PodResources& resources,
                                 std::int64_t above) {
  const auto [at, fresh] = left_[above].try_emplace(node);
  if (fresh) at->second = leftOn(node, above);
  const NodeResources& left = at->second;
  std::int64_t most = std::min(left.pods, kMaxPods);
  if (resources.cpu.milli > 0) most = std::min(most, left.cpu / resources.cpu.milli);
  const auto memory = static_cast<std::int64_t>(resources.memory.count);
  if (memory > 0) most = std::min(most, left.memory / memory);
  // What a pod does not request is not checked, however much is overcommitted.
  return static_cast<std::uint32_t>(std::max<std::int64_t>(most, 0));
}

}  // namespace divvy::scheduler
