// What nodes register, and what their inventories have.
#include <algorithm>

#include "cache/cache_impl.h"

namespace divvy::scheduler {

const NodeInventory* SchedulerCache::inventoryOf(const std::string& node) const {
  const auto known = impl_->nodes.find(node);
  return known == impl_->nodes.end() || impl_->unreadable.contains(node) ? nullptr
                                                                         : &known->second.inventory;
}

// Describes again the nodes that register a UUID which this node's inventory gained or lost.
void SchedulerCache::recordInventory(const std::string& name) {
  const auto known = impl_->nodes.find(name);
  const std::vector<std::string> concerned =
      known == impl_->nodes.end() ? impl_->recorded.remove(name)
                                  : impl_->recorded.set(name, known->second.inventory);
  for (const std::string& other : concerned) {
    const auto there = impl_->nodes.find(other);
    if (there == impl_->nodes.end()) continue;
    const Result<void> set = takeNode(kube::Node(there->second.said));
    (void)set;  // as it was accepted before
  }
}

std::size_t SchedulerCache::surplusNodes() const {
  return static_cast<std::size_t>(
      std::count_if(impl_->nodes.begin(), impl_->nodes.end(),
                    [](const auto& one) { return !one.second.inventory.surplus.empty(); }));
}

}  // namespace divvy::scheduler
