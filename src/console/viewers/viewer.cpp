#include "console/viewer.h"

namespace divvy::console {

ViewerScope wholeScope() {
  ViewerScope scope;
  scope.nodes = scope.queues = scope.pods.all = scope.events.all = true;
  return scope;
}

}  // namespace divvy::console
