// A controller's view of the cluster. Private.
#pragma once

#include <string>

#include "kube/node.h"
#include "kube/pod.h"

namespace divvy::scheduler {

// The server calls these on its single thread, for each object as the API server reports it. Before
// that, the scheduler cache has set the object (updates) or removed it (deletes). After a relist
// each living object is reported again. Calls do not block. A controller that writes to the API
// server does so in a separate coroutine.
class ClusterObserver {
 public:
  virtual ~ClusterObserver() = default;
  virtual void onNodeUpdate(const kube::Node& /*node*/) {}
  virtual void onNodeDelete(const std::string& /*name*/) {}
  virtual void onPodUpdate(const kube::Pod& /*pod*/) {}
  virtual void onPodDelete(const std::string& /*uid*/) {}
};

}  // namespace divvy::scheduler
