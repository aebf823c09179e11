#include "preemption/node_resources.h"

#include <algorithm>
#include <limits>

#include "base/quantity.h"

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

void NodeResources::take(const PodResources& pod) {
  cpu -= pod.cpu.milli;
  memory -= static_cast<std::int64_t>(pod.memory.count);
  --pods;
}

void NodeResources::give(const PodResources& pod) {
  cpu += pod.cpu.milli;
  memory += static_cast<std::int64_t>(pod.memory.count);
  ++pods;
}

NodeResources nodeResourcesOf(const kube::Quantities& allocatable) {
  const auto read = [&](const char* name, auto amountOf) {
    const auto found = allocatable.find(name);
    if (found == allocatable.end()) return kEnough;
    const Result<Quantity> amount = Quantity::parse(found->second);
    return amount ? std::min(amountOf(*amount), kEnough) : kEnough;
  };
  const auto whole = [](const Quantity& amount) { return amount.whole().value_or(kEnough); };
  return {read("cpu", [](const Quantity& amount) { return amount.milli(); }), read("memory", whole),
          read("pods", whole)};
}

}  // namespace divvy::scheduler
