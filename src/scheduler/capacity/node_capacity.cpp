#include "capacity/node_capacity.h"

#include <algorithm>
#include <limits>

#include "base/quantity.h"

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kMaxPods = std::numeric_limits<std::int32_t>::max();

}  // namespace

NodeCapacity::Left NodeCapacity::leftOn(const std::string& node, std::int64_t above) const {
  const kube::Quantities allocatable = cache_.nodes().allocatable(node);
  const auto read = [&](const char* name, auto amountOf) {
    const auto found = allocatable.find(name);
    if (found == allocatable.end()) return kEnough;
    const Result<Quantity> amount = Quantity::parse(found->second);
    return amount ? std::min(amountOf(*amount), kEnough) : kEnough;
  };
  const auto whole = [](const Quantity& amount) { return amount.whole().value_or(kEnough); };
  Left left{read("cpu", [](const Quantity& amount) { return amount.milli(); }),
            read("memory", whole), read("pods", whole)};
  for (const RunningPod* pod : running_pods_.on(node)) {
    if (pod->priority < above && !pod->fixed) continue;
    left.cpu -= pod->resources.cpu.milli;
    left.memory -= static_cast<std::int64_t>(pod->resources.memory.count);
    --left.pods;
  }
  return left;
}

std::uint32_t NodeCapacity::most(const std::string& node, const PodResources& resources,
                                 std::int64_t above) {
  const auto [at, fresh] = left_[above].try_emplace(node);
  if (fresh) at->second = leftOn(node, above);
  const Left& left = at->second;
  std::int64_t most = std::min(left.pods, kMaxPods);
  if (resources.cpu.milli > 0) most = std::min(most, left.cpu / resources.cpu.milli);
  const auto memory = static_cast<std::int64_t>(resources.memory.count);
  if (memory > 0) most = std::min(most, left.memory / memory);
  // What a pod does not request is not checked, however much is overcommitted.
  return static_cast<std::uint32_t>(std::max<std::int64_t>(most, 0));
}

}  // namespace divvy::scheduler
