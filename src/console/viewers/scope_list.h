// The scopes that views are built for.
#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "console/viewer.h"

namespace divvy::console {

// Passes scopes from the thread of requests to that of readings.
class ScopeList {
 public:
  void set(std::set<ViewerScope> scopes) {
    const std::lock_guard lock(mutex_);
    scopes_ = std::move(scopes);
  }
  std::set<ViewerScope> get() const {
    const std::lock_guard lock(mutex_);
    return scopes_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<ViewerScope> scopes_;
};

}  // namespace divvy::console
