// Protected annotations: those with assignments and with the devices of nodes, which tenants may
// not write. Source: facts on the incumbent's control plane, 2.1 to 2.4. Pure. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vendors/catalog.h"

namespace divvy::scheduler {

// Keys by prefix and suffix. At most one of both is empty.
struct KeyPattern {
  std::string_view begins;
  std::string_view ends;
};

struct AnnotationKeys {
  std::vector<std::string> names;  // ascending
  std::vector<KeyPattern> families;

  bool has(std::string_view key) const;
  // Returns has() as a condition on `k`, in CEL.
  std::string cel() const;
};

// Return the protected annotations of pods or of nodes. They include kinds that Divvy cannot place:
// other schedulers place these, and rely on the annotations.
AnnotationKeys guardedOfPods(const vendors::Catalog& catalog);
AnnotationKeys guardedOfNodes(const vendors::Catalog& catalog);

}  // namespace divvy::scheduler
