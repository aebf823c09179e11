// All kinds of devices that can be asked for, and whose a resource's name is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vendors/descriptor.h"

namespace divvy::vendors {

// Those of these vendors; no names: all. kUsage: one that is not known, and which are.
Result<std::vector<Descriptor>> only(const std::vector<Descriptor>& all,
                                     const std::vector<std::string>& vendors);

// All names of a kind's resources, but for those of single instances.
std::vector<std::string> resourcesOf(const Kind& kind);
// All names of one of its resources, that one first.
std::vector<std::string> namesOf(const Kind& kind, const std::string& resource);

// Constant once made; kinds stay where they are for as long as it lives.
class Catalog {
 public:
  // kUsage: two kinds have one name, or two uses of one resource.
  static Result<Catalog> of(std::vector<Descriptor> descriptors);

  std::vector<const Kind*> kinds() const;
  const Kind* kind(std::string_view name) const;
  // Whose resource that is; null: nobody's.
  const Kind* owner(std::string_view resource) const;

 private:
  std::vector<Descriptor> descriptors_;
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> kinds_;
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> resources_;
};

}  // namespace divvy::vendors
