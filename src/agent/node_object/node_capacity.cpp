#include "node_object/node_capacity.h"

#include "base/quantity.h"
#include "kube/device_list.h"

namespace divvy::agent {

void NodeCapacity::onNodeUpdate(const kube::Node& node) {
  withdrawn_.clear();
  if (const auto said = node.meta.annotations.find(kube::kAnnouncedKey);
      said != node.meta.annotations.end())
    for (const std::string& name : kube::decodeDevices(said->second))
      if (name.find('/') != std::string::npos && !resources_.contains(name) &&
          !wanted_.contains(name) && node.capacity.contains(name))
        withdrawn_.insert(name);
  now_.clear();
  for (const auto& [name, amount] : wanted_) {
    const auto said = node.capacity.find(name);
    if (said == node.capacity.end()) continue;
    // An amount that cannot be read differs from the wanted one.
    const Result<Quantity> quantity = Quantity::parse(said->second);
    if (quantity && !quantity->negative() && quantity->whole())
      now_[name] = static_cast<std::uint64_t>(*quantity->whole());
  }
}

void NodeCapacity::written(Amounts amounts) {
  now_ = std::move(amounts);
  withdrawn_.clear();
}

std::set<std::string> NodeCapacity::announced() const {
  std::set<std::string> names = withdrawn_;
  for (const auto& [name, amount] : wanted_) names.insert(name);
  return names;
}

}  // namespace divvy::agent
