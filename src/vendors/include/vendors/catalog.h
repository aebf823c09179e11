// Catalog: all kinds of devices, and the resources that they are requested by.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vendors/descriptor.h"

namespace divvy::vendors {

// Returns the descriptors of these vendors, all if none is named. kUsage: an unknown vendor; which
// are known.
Result<std::vector<Descriptor>> only(const std::vector<Descriptor>& all,
                                     const std::vector<std::string>& vendors);

// Returns all resource names of a kind, except for those of single instances.
std::vector<std::string> resourcesOf(const Kind& kind);
// Returns all names of one resource, `resource` first.
std::vector<std::string> namesOf(const Kind& kind, const std::string& resource);

// Immutable. Kinds keep their addresses while the catalog exists.
class Catalog {
 public:
  // kUsage: two kinds with one name, or two uses of one resource.
  static Result<Catalog> of(std::vector<Descriptor> descriptors);

  std::vector<const Kind*> kinds() const;
  const Kind* kind(std::string_view name) const;
  // Returns the kind that the resource belongs to, or null.
  const Kind* owner(std::string_view resource) const;

 private:
  std::vector<Descriptor> descriptors_;
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> kinds_;
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> resources_;
};

}  // namespace divvy::vendors
