// The views of all viewers at one instant.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "console/viewer.h"
#include "view/view_delta.h"

namespace divvy::console {

// A value that is never changed once it is published.
struct ViewSet {
  std::shared_ptr<const ConsoleView> whole;  // hides nothing
  std::map<ViewerScope, std::shared_ptr<const ConsoleView>> limited;
  // Changes to a view from the one before it, by its number, where they are known: comparing large
  // views takes longer than answers may wait.
  std::map<std::uint64_t, ViewChanges> changes;
  std::vector<std::string> namespaces;  // of pods and Events, ascending; of a cluster only
};

}  // namespace divvy::console
