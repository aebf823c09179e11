#include "vendors/catalog.h"

#include <utility>

namespace divvy::vendors {
namespace {

std::vector<std::string> resourcesOf(const Kind& kind) {
  std::vector<std::string> names;
  for (const std::string* name : {&kind.count.resource, &kind.slice, &kind.memory.resource,
                                  &kind.memory.percent, &kind.cores.resource, &kind.priority})
    if (!name->empty()) names.push_back(*name);
  return names;
}

}  // namespace

Result<Catalog> Catalog::of(std::vector<Descriptor> descriptors) {
  Catalog catalog;
  catalog.descriptors_ = std::move(descriptors);
  for (std::size_t d = 0; d < catalog.descriptors_.size(); ++d) {
    const std::vector<Kind>& kinds = catalog.descriptors_[d].kinds;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::pair place{d, k};
      if (!catalog.kinds_.emplace(kinds[k].name, place).second)
        return Error(ErrorCode::kUsage, "two kinds of devices are called " + kinds[k].name);
      for (const std::string& name : resourcesOf(kinds[k]))
        if (!catalog.resources_.emplace(name, place).second)
          return Error(ErrorCode::kUsage, "two uses of the resource " + name);
    }
  }
  return catalog;
}

std::vector<const Kind*> Catalog::kinds() const {
  std::vector<const Kind*> all;
  for (const Descriptor& descriptor : descriptors_)
    for (const Kind& kind : descriptor.kinds) all.push_back(&kind);
  return all;
}

const Kind* Catalog::kind(std::string_view name) const {
  const auto found = kinds_.find(name);
  if (found == kinds_.end()) return nullptr;
  return &descriptors_[found->second.first].kinds[found->second.second];
}

const Kind* Catalog::owner(std::string_view resource) const {
  const auto found = resources_.find(resource);
  if (found != resources_.end()) {
    return &descriptors_[found->second.first].kinds[found->second.second];
  }
  for (const Kind* kind : kinds()) {
    const std::string& prefix = kind->instances_prefix;
    if (!prefix.empty() && resource.substr(0, prefix.size()) == prefix) return kind;
  }
  return nullptr;
}

}  // namespace divvy::vendors
