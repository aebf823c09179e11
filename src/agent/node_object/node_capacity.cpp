#include "node_object/node_capacity.h"

#include "base/quantity.h"
#include "kube/device_list.h"
#include "kube/renamed_annotation.h"

namespace divvy::agent {

void NodeCapacity::onNodeUpdate(const kube::Node& node) {
  withdrawn_.clear();
  if (const std::string* said =
          kube::findRenamed(node.meta.annotations, kube::kAnnouncedResourcesKey);
      said != nullptr)
    for (const std::string& name : kube::decodeDevices(*said))
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
