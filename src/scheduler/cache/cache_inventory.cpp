// What nodes register, and what their inventories have.
#include <algorithm>

#include "cache/cache_impl.h"

namespace divvy::scheduler {

const NodeInventory* Books::inventoryOf(const std::string& node) const {
  const auto known = inside_->nodes.find(node);
  return known == inside_->nodes.end() || inside_->unreadable.contains(node)
             ? nullptr
             : &known->second.inventory;
}

// Describes again the nodes that register a UUID which this node's inventory gained or lost.
void Books::recordInventory(const std::string& name) {
  const auto known = inside_->nodes.find(name);
  const std::vector<std::string> concerned =
      known == inside_->nodes.end() ? inside_->recorded.remove(name)
                                    : inside_->recorded.set(name, known->second.inventory);
  for (const std::string& other : concerned) {
    const auto there = inside_->nodes.find(other);
    if (there == inside_->nodes.end()) continue;
    const Result<void> set = takeNode(kube::Node(there->second.said));
    (void)set;  // as it was accepted before
  }
}

std::size_t Books::surplusNodes() const {
  return static_cast<std::size_t>(
      std::count_if(inside_->nodes.begin(), inside_->nodes.end(),
                    [](const auto& one) { return !one.second.inventory.surplus.empty(); }));
}

}  // namespace divvy::scheduler
