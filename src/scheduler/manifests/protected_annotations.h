// Which annotations say who was given what, and what there is to give: those that tenants may not
// write. Source: facts on the incumbent's control plane, 2.1 to 2.4. Pure. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// Keys of one namespace of names; either end may be empty, not both.
struct KeyPattern {
  std::string_view begins;
  std::string_view ends;
};

struct AnnotationKeys {
  std::vector<std::string> names;  // ascending
  std::vector<KeyPattern> families;

  bool has(std::string_view key) const;
  // The same as a condition of `k`, in the API server's language.
  std::string cel() const;
};

// Also those of kinds that cannot be placed yet: others place them, and are not to be deceived.
AnnotationKeys guardedOfPods(const vendors::Catalog& catalog);
AnnotationKeys guardedOfNodes(const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
