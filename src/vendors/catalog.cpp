#include "vendors/catalog.h"

#include <algorithm>
#include <utility>

namespace divvy::vendors {

const std::string& meant(const Kind& kind, const ResourceAlias& other) {
  switch (other.means) {
    case ResourceAlias::Means::kMemory:
      return kind.memory.resource;
    case ResourceAlias::Means::kPercent:
      return kind.memory.percent;
    case ResourceAlias::Means::kCores:
      return kind.cores.resource;
    case ResourceAlias::Means::kCount:
      break;
  }
  return kind.count.resource;
}

std::vector<std::string> resourcesOf(const Kind& kind) {
  std::vector<std::string> names;
  for (const std::string* name : {&kind.count.resource, &kind.slice, &kind.memory.resource,
                                  &kind.memory.percent, &kind.cores.resource, &kind.priority})
    if (!name->empty()) names.push_back(*name);
  for (const ResourceAlias& other : kind.also) names.push_back(other.resource);
  for (const ModelResource& one : kind.of_models) names.push_back(one.resource);
  return names;
}

std::vector<std::string> namesOf(const Kind& kind, const std::string& resource) {
  std::vector<std::string> names{resource};
  for (const ResourceAlias& other : kind.also)
    if (meant(kind, other) == resource) names.push_back(other.resource);
  if (!resource.empty() && resource == kind.count.resource)
    for (const ModelResource& one : kind.of_models) names.push_back(one.resource);
  return names;
}

Result<std::vector<Descriptor>> only(const std::vector<Descriptor>& all,
                                     const std::vector<std::string>& vendors) {
  if (vendors.empty()) return all;
  std::string known;
  for (const Descriptor& one : all) known += (known.empty() ? "" : ", ") + one.vendor;
  for (const std::string& name : vendors) {
    const bool there = std::any_of(all.begin(), all.end(),
                                   [&](const Descriptor& one) { return one.vendor == name; });
    if (!there)
      return Error(ErrorCode::kUsage, "vendor \"" + name + "\" is unknown; accepted: " + known);
  }
  std::vector<Descriptor> some;
  for (const Descriptor& one : all)
    if (std::find(vendors.begin(), vendors.end(), one.vendor) != vendors.end()) some.push_back(one);
  return some;
}

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
